"""The size of the pictures that a model takes: what it says itself, or what it accepts."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from attribound.models.stated import layers_of

_NAMES = ("input_size", "image_size", "img_size")
_CONFIGS = ("config", "pretrained_cfg", "default_cfg")
"""Where Hugging Face and timm keep what a model was made for."""

_TWO_USUAL = (224, 256)
_OTHERS = (32, 28, 64, 96, 128, 48, 72, 84, 100, 112, 120, 144, 150, 160, 180, 192, 200, 240, 260, 288, 299, 300)
_LARGE = (320, 336, 380, 384, 448, 456, 512)


def stated_size(model: Any) -> int | None:
    """The side of the square pictures that a model says it takes; None if it does not say."""
    for layer in layers_of(model):
        for holder in (layer, *(getattr(layer, name, None) for name in _CONFIGS)):
            for name in _NAMES:
                value = holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)
                if size := _side(value):
                    return size
    return None


def only_size(model: Callable[[torch.Tensor], Any], channels: int) -> int | None:
    """The side of the only usual size that a model accepts; None if it accepts several, or none."""
    accepted = [size for size in _TWO_USUAL if _accepts(model, channels, size)]
    if accepted:
        return accepted[0] if len(accepted) == 1 else None
    return next((size for size in (*_OTHERS, *_LARGE) if _accepts(model, channels, size)), None)


def _side(value: Any) -> int | None:
    """The side in 64, (64, 64) or (3, 64, 64)."""
    sides = [value] if isinstance(value, int) else list(value)[-2:] if isinstance(value, Sequence) else []
    good = all(isinstance(side, int) and not isinstance(side, bool) and side > 0 for side in sides)
    return sides[0] if sides and good and len(set(sides)) == 1 else None


def _accepts(model: Callable[[torch.Tensor], Any], channels: int, size: int) -> bool:
    try:
        with torch.no_grad():
            model(torch.zeros(1, channels, size, size))
    except Exception:  # whatever a model raises for a size that it was not made for
        return False
    return True
