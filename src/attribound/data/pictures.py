"""One picture file to pixels in [0, 1]: as a person sees it, or a clear refusal, never a constant."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from attribound.errors import StoredDataError
from attribound.limits import check_pixels, reason, shown, size_of

_MARGIN = 256 / 224
_SIXTEEN_BITS = frozenset({"PNG", "PPM"})
"""Formats whose pictures of mode I hold 16 bits; elsewhere nobody says which range 32 bits mean."""


def read_picture(path: Path, size: int, channels: int = 3) -> Tensor:
    """A picture file as (channels, size, size) in [0, 1]; raises StoredDataError if that cannot be done."""
    size_of(path)
    try:
        with _own_limit(), Image.open(path) as picture:
            check_pixels(shown(path), *picture.size)
            return as_pixels(picture, size, channels, shown(path))
    except StoredDataError:
        raise
    except Exception as error:  # whatever a foreign file makes a decoder raise
        raise StoredDataError(f"cannot read the picture {shown(path)}: {reason(error)}") from None


def as_pixels(picture: Image.Image, size: int, channels: int = 3, name: str = "the picture") -> Tensor:
    """Resize and crop a picture to (channels, size, size) in [0, 1].

    It is turned as its EXIF note says, what is transparent becomes white, and 16 bits or fractions keep their levels.
    """
    scale = round(size * _MARGIN) / min(picture.size)
    check_pixels(f"{name}, resized,", *(round(side * scale) for side in picture.size))
    upright = ImageOps.exif_transpose(picture)
    fine = _levels(upright, picture.format in _SIXTEEN_BITS, name)
    visible = fine if fine is not None else _opaque(upright).convert("RGB" if channels == 3 else "L")
    width, height = (max(size, round(side * scale)) for side in upright.size)
    left, top = (width - size) // 2, (height - size) // 2
    resized = visible.resize((width, height), Image.Resampling.BILINEAR)
    pixels = np.asarray(resized.crop((left, top, left + size, top + size)), np.float32)
    tensor = torch.from_numpy(pixels.copy().reshape(size, size, -1)).permute(2, 0, 1)
    return (tensor if fine is not None else tensor / 255).expand(channels, -1, -1).contiguous()


def _levels(picture: Image.Image, sixteen_bits: bool, name: str) -> Image.Image | None:
    """A grey picture of more than 8 bits as fractions; None for all others."""
    if picture.mode.startswith("I;16") or (picture.mode == "I" and sixteen_bits):
        return Image.fromarray(np.asarray(picture).astype(np.float32) / np.float32(65535))
    if picture.mode == "F":
        values = np.asarray(picture)
        if not (np.isfinite(values).all() and values.min() >= 0 and values.max() <= 1):
            raise StoredDataError(f"{name} holds fractions outside [0, 1]: scale them first")
        return picture
    if picture.mode == "I":
        raise StoredDataError(f"{name} holds 32-bit numbers whose range nobody states: store 8 or 16 bits")
    return None


def _opaque(picture: Image.Image) -> Image.Image:
    """The picture over white where it is transparent."""
    if not picture.has_transparency_data:
        return picture
    over = picture.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", over.size, "white"), over)


@contextmanager
def _own_limit() -> Iterator[None]:
    """Our limit of pixels in place of the decoder's own, which warns first and cannot be overridden from outside."""
    before, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
    try:
        yield
    finally:
        Image.MAX_IMAGE_PIXELS = before
