"""Architectures by the name that people type after `--arch`."""

from collections.abc import Callable

from torch import nn

from attribound.errors import ArgumentError
from attribound.models.cnn import SmallCNN
from attribound.models.denoiser import Denoiser
from attribound.models.resnet import resnet18, resnet20, resnet50, resnet50_keras

ARCHITECTURES: dict[str, Callable[[], nn.Module]] = {
    "small-cnn": SmallCNN,
    "resnet18": resnet18,
    "resnet20": resnet20,
    "resnet50": resnet50,
    "resnet50-keras": resnet50_keras,
    "denoiser": Denoiser,
}


def make_model(architecture: str) -> nn.Module:
    """A fresh model of a named architecture."""
    if architecture not in ARCHITECTURES:
        raise ArgumentError(f"expected an architecture ({', '.join(ARCHITECTURES)}), got {architecture!r}")
    return ARCHITECTURES[architecture]()
