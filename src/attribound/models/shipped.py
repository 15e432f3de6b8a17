"""Weights that come with the package, as safetensors: loading them executes nothing."""

import json
from importlib import resources
from typing import Any

from safetensors.torch import load
from torch import nn

from attribound.errors import ArgumentError
from attribound.models.architectures import make_model
from attribound.models.forest import load_forest

SHIPPED = {
    "mnist-cnn": "small-cnn",
    "mnist-cnn-noise": "small-cnn",
    "mnist-cnn-consistency": "small-cnn",
    "mnist-cnn-trades": "small-cnn",
    "mnist-cnn-ig-norm": "small-cnn",
    "mnist-cnn-igr": "small-cnn",
    "mnist-cnn-trades-noise": "small-cnn",
    "cifar10-resnet20": "resnet20",
    "cifar10-resnet20-noise": "resnet20",
    "cifar10-resnet20-consistency": "resnet20",
    "cifar10-resnet20-adversarial": "resnet20",
    "cifar10-resnet20-trades": "resnet20",
    "cifar10-resnet20-ig-norm": "resnet20",
    "cifar10-resnet20-igr": "resnet20",
    "credit-forest": "forest",
}
"""Shipped names and their architectures; made by scripts/assets/make_weights.py, the forest by make_credit.py."""


def load_shipped(name: str) -> nn.Module:
    """A shipped model by name, in evaluation mode."""
    if SHIPPED[_known(name)] == "forest":
        with resources.as_file(weights_folder() / f"{name}.ubj") as path:
            return load_forest(path)
    model = make_model(SHIPPED[name])
    model.load_state_dict(load((weights_folder() / f"{name}.safetensors").read_bytes()))
    return model.eval().requires_grad_(False)


def card(name: str) -> dict[str, Any]:
    """A shipped model's card: data, objective, command, accuracies, date."""
    stored: dict[str, Any] = json.loads((weights_folder() / f"{_known(name)}.json").read_text())
    return stored


def _known(name: str) -> str:
    if name not in SHIPPED:
        raise ArgumentError(f"expected a shipped model ({', '.join(SHIPPED)}), got {name!r}")
    return name


def weights_folder() -> Any:
    """Where shipped weights and their cards are."""
    return resources.files("attribound.models") / "weights"
