"""Weights that come with the package, as safetensors: loading them executes nothing."""

from importlib import resources

from safetensors.torch import load
from torch import nn

from attribound.errors import ArgumentError
from attribound.models.cnn import SmallCNN

SHIPPED = {"mnist-cnn": SmallCNN, "mnist-cnn-noise": SmallCNN}
"""Shipped names and their architectures; scripts/make_embedded.py made the weights."""


def load_shipped(name: str) -> nn.Module:
    """A shipped model by name, in evaluation mode."""
    if name not in SHIPPED:
        raise ArgumentError(f"expected a shipped model ({', '.join(SHIPPED)}), got {name!r}")
    file = resources.files("attribound.models") / "weights" / f"{name}.safetensors"
    model = SHIPPED[name]()
    model.load_state_dict(load(file.read_bytes()))
    return model.eval().requires_grad_(False)
