"""One picture file to pixels in [0, 1]: as a person sees it, or a clear refusal, never a constant."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from attribound.errors import StoredDataError
from attribound.file_quota import check_pixels, reason, shown, size_of

_MARGIN = 256 / 224
_SIXTEEN_BITS = frozenset({"PNG", "PPM"})
"""Formats whose pictures of mode I hold 16 bits; elsewhere nobody says which range 32 bits mean."""
_PHOTOMETRIC, _WHITE_IS_ZERO = 262, 0
"""What a TIFF file says about its levels; Pillow turns negatives of 8 bits, not those of more."""

Change = Callable[[Image.Image], Tensor]
"""From a picture, upright and opaque, to pixels (channels, H, W)."""

Crop = Literal["fit", "centre", "none"]
"""What happens to a picture of another size than asked for.

fit: a picture of that size stays as it is, all others are treated as by "centre".
centre: the shorter side is resized to 8/7 of the size and the centre square is cut out, whatever size it had.
none: the whole picture is resized, which changes the proportions of one that is not square.
"""
CROPS: tuple[Crop, ...] = ("fit", "centre", "none")


def read_picture(path: Path, size: int, channels: int = 3, crop: Crop = "fit") -> Tensor:
    """A picture file as (channels, size, size) in [0, 1]; raises StoredDataError if that cannot be done."""
    return change_picture(path, lambda picture: _squared(picture, size, channels, crop, shown(path)), channels)


def change_picture(path: Path, change: Change, channels: int = 3) -> Tensor:
    """What a function makes of a picture file; raises StoredDataError if either fails.

    The picture is turned as its EXIF note says, what is transparent becomes white, and 16 bits or fractions keep their
    levels; it comes as RGB or, for one channel, as grey.
    """
    with _opened(path) as picture:
        return change(_as_seen(picture, channels, shown(path)))


def open_picture(path: Path, channels: int = 3) -> Image.Image:
    """A picture file, upright and opaque, as RGB or grey; raises StoredDataError if it cannot be read."""
    with _opened(path) as picture:
        return _as_seen(picture, channels, shown(path))


def square_pixels(picture: Image.Image, size: int, channels: int = 3, crop: Crop = "fit") -> Tensor:
    """An opened picture as (channels, size, size) in [0, 1], read as a file is."""
    name = "the picture"
    check_pixels(name, *picture.size)
    return _squared(_as_seen(picture, channels, name), size, channels, crop, name)


def _as_seen(picture: Image.Image, channels: int, name: str) -> Image.Image:
    """The picture upright and opaque; 16 bits or fractions keep their levels."""
    upright = ImageOps.exif_transpose(picture)
    fine = _levels(upright, picture.format in _SIXTEEN_BITS, name)
    if fine is None:
        return _opaque(upright).convert("RGB" if channels == 3 else "L")
    if upright.has_transparency_data or getattr(picture, "tag_v2", {}).get(_PHOTOMETRIC) == _WHITE_IS_ZERO:
        raise StoredDataError(f"{name} has more than 8 bits and is transparent or a negative: store it as plain grey")
    return fine


def picture_size(path: Path) -> tuple[int, int]:
    """Width and height of a picture file, as its header says."""
    with _opened(path) as picture:
        return picture.size


def resized_sides(sides: tuple[int, int], size: int, crop: Crop) -> tuple[int, int]:
    """Width and height that a picture is resized to, before a square of `size` is cut out."""
    if crop == "none" or is_kept(sides, size, crop):
        return size, size
    scale = round(size * _MARGIN) / min(sides)
    width, height = (max(size, round(side * scale)) for side in sides)
    return width, height


def is_kept(sides: tuple[int, int], size: int, crop: Crop) -> bool:
    """Whether a picture of this width and height is taken as it is."""
    return crop != "centre" and sides == (size, size)


def is_enlarged(sides: tuple[int, int], size: int, crop: Crop) -> bool:
    """Whether a picture of this width and height must be enlarged."""
    return any(after > before for before, after in zip(sides, resized_sides(sides, size, crop), strict=True))


@contextmanager
def _opened(path: Path) -> Iterator[Image.Image]:
    """A picture file, with our limit of pixels; whatever goes wrong inside is a StoredDataError that names it."""
    size_of(path)
    try:
        with _own_limit(), Image.open(path) as picture:
            check_pixels(shown(path), *picture.size)
            yield picture
    except StoredDataError:
        raise
    except Exception as error:  # whatever a foreign file makes a decoder raise
        raise StoredDataError(f"cannot read the picture {shown(path)}: {reason(error)}") from None


def _squared(picture: Image.Image, size: int, channels: int, crop: Crop, name: str) -> Tensor:
    """Resize and crop a picture to (channels, size, size) in [0, 1]."""
    width, height = resized_sides(picture.size, size, crop)
    check_pixels(f"{name}, resized,", width, height)
    left, top = (width - size) // 2, (height - size) // 2
    resized = picture.resize((width, height), Image.Resampling.BILINEAR)
    pixels = np.array(resized.crop((left, top, left + size, top + size)), np.float32)
    tensor = torch.from_numpy(pixels.reshape(size, size, -1)).permute(2, 0, 1)
    return (tensor if picture.mode == "F" else tensor / 255).expand(channels, -1, -1).contiguous()


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
        raise StoredDataError(f"{name} holds 32-bit numbers whose range is not stated: store 8 or 16 bits")
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
