"""Architectures by the name that people type after `--arch`."""

from collections.abc import Callable

from torch import nn

from attribound.errors import ArgumentError
from attribound.models.cnn import SmallCNN
from attribound.models.denoiser import Denoiser
from attribound.models.efficientnet import efficientnet_lite0
from attribound.models.own import call_own
from attribound.models.resnet import resnet18, resnet20, resnet50, resnet50_keras
from attribound.models.vit import vit_tiny, vit_tiny_grey

ARCHITECTURES: dict[str, Callable[[], nn.Module]] = {
    "small-cnn": SmallCNN,
    "resnet18": resnet18,
    "resnet20": resnet20,
    "resnet50": resnet50,
    "resnet50-keras": resnet50_keras,
    "efficientnet-lite0": efficientnet_lite0,
    "vit-tiny": vit_tiny,
    "vit-tiny-grey": vit_tiny_grey,
    "denoiser": Denoiser,
}


def make_model(architecture: str) -> nn.Module:
    """A fresh model of a named architecture, or of the user's own `module:Class`."""
    if ":" in architecture:
        return call_own(architecture, "architecture")
    if architecture not in ARCHITECTURES:
        raise ArgumentError(
            f"expected an architecture ({', '.join(ARCHITECTURES)} or module:Class), got {architecture!r}"
        )
    return ARCHITECTURES[architecture]()
