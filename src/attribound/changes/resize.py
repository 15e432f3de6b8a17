"""Resized by another method: every library has its own default."""

from typing import final

import numpy as np
import torch
from PIL import Image
from PIL import __version__ as pillow
from torch import Tensor

from attribound.changes.base import Named
from attribound.changes.pictures import check_picture
from attribound.errors import ArgumentError

_METHODS = ("nearest", "box", "bilinear", "hamming", "bicubic", "lanczos")


@final
class ResizeMethod(Named):
    """The larger picture that x was made from, resized to the size of x by each of Pillow's methods."""

    name = "resize"
    title = "Resized by another method"
    unit = "other method"
    made = f"resized from the larger picture by one of {', '.join(_METHODS)}, as computed by Pillow {pillow}"
    example = "ab.ResizeMethod(picture)"
    labels = _METHODS  # one of them may be the one that made x

    def __init__(self, picture: Image.Image) -> None:
        """Take the part of the larger picture that x shows, with the proportions of x."""
        if not isinstance(picture, Image.Image):
            raise ArgumentError(f"expected `picture` to be a Pillow picture, got {type(picture).__name__}")
        self.picture = picture

    def check(self, x: Tensor) -> None:
        """Pictures that show all of the larger one."""
        check_picture(x, self.name)
        (width, height), (tall, wide) = self.picture.size, x.shape[1:]
        if abs(width * tall - height * wide) > max(width, height) * max(tall, wide) * 0.01:
            raise ArgumentError(
                f"expected the larger picture in the proportions of x ({wide} x {tall}), got {width} x {height}"
            )

    def apply(self, x: Tensor, t: Tensor) -> Tensor:
        """Resize the larger picture."""
        channels, height, width = x.shape
        source = self.picture.convert("RGB" if channels == 3 else "L")
        resized = [
            np.asarray(source.resize((width, height), Image.Resampling[_METHODS[round(one)].upper()])).copy()
            for one in t.tolist()
        ]
        levels = torch.from_numpy(np.stack(resized)).view(len(t), height, width, channels).permute(0, 3, 1, 2)
        return (levels.to(x.device, x.dtype) / 255).contiguous()
