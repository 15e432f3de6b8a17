"""The user's own way to read a picture: `?transform=module:function`, imported only because the user typed it."""

from pathlib import Path
from typing import Any, final

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from attribound.data.pictures import change_picture
from attribound.errors import ArgumentError, StoredDataError
from attribound.models.own import load_own, own_source_hash


@final
class Transform:
    """A function of the user's from a picture to a tensor (C, H, W)."""

    def __init__(self, spec: str) -> None:
        """Import `module:function`."""
        self.spec, self._function = spec, load_own(spec, "transform")
        if not callable(self._function):
            raise ArgumentError(f"expected ?transform={spec} to be a function, got {type(self._function).__name__}")

    def __call__(self, picture: Image.Image) -> Tensor:
        """The pixels; raises StoredDataError where the function fails or returns something else."""
        try:
            values: Any = self._function(picture.copy())
        except Exception as error:  # whatever the user's own code raises
            raise StoredDataError(f"{self.spec} failed: {type(error).__name__}: {error}") from None
        pixels = torch.from_numpy(np.ascontiguousarray(values)) if isinstance(values, np.ndarray) else values
        if not isinstance(pixels, Tensor) or pixels.ndim != 3 or not pixels.is_floating_point():
            raise StoredDataError(
                f"expected {self.spec} to return a floating-point tensor (channels, height, width), got {_kind(values)}"
            )
        return pixels.detach().float().contiguous()

    def example(self, path: Path, channels: int) -> Tensor:
        """What the function makes of a picture file, twice the same; raises ArgumentError if it is not."""
        first, second = (change_picture(path, self, channels) for _ in range(2))
        if not torch.equal(first, second):
            raise ArgumentError(f"expected {self.spec} to return the same for a picture each time")
        return first

    def note(self, path: Path, channels: int) -> str:
        """What the function does to a picture file, in words."""
        pixels = self.example(path, channels)
        low, high = (float(end) for end in pixels.aminmax())
        outside = f"; values from {low:.3g} to {high:.3g}, which noise and epsilon count" if low < 0 or high > 1 else ""
        return f"read by your own code {self.spec} as {tuple(pixels.shape)}{outside}"

    def sha256(self) -> str:
        """Hash of the function's source file, "" if it has none."""
        return own_source_hash(self.spec)


def _kind(value: Any) -> str:
    shape = f" of shape {tuple(value.shape)}" if isinstance(value, Tensor | np.ndarray) else ""
    return f"{getattr(value, 'dtype', type(value).__name__)}{shape}"
