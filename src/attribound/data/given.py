"""An input as people have it: a picture file or an opened picture becomes the tensor that a model takes."""

import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image, ImageOps
from torch import Tensor

from attribound.data.fitting import fitted, wanted_size
from attribound.data.folder import IMAGENET_SIZE, Folder, open_folder
from attribound.data.options import Options, parted
from attribound.data.pictures import is_kept, square_pixels
from attribound.data.treatment import treatment
from attribound.errors import AttriboundWarning


def given_input(x: Any, model: Callable[[Tensor], Any], channels: int = 3) -> Any:
    """Pixels (channels, side, side) in [0, 1] of a picture file or an opened picture; all else as it is.

    A picture of another size than the model takes is resized and cut to its centre, and a warning says so.

    Args:
        x: what was given; options may follow the name of a file, `photo.jpg?size=64&crop=none`.
        model: the classifier; pictures of zeros may be put through it.
        channels: 3 or 1.
    """
    if isinstance(x, str | Path):
        spec, options = str(x), parted(str(x))[1]
        if options and "channels=" not in options:
            spec = f"{spec}&channels={channels}"
        known = ("size", "crop", "channels")  # no transform: in Python it is an argument
        files = open_folder(Options.parse(spec, "test", known)) if options else Folder(x, channels=channels)
        read = fitted(spec, files, model)
        return _told(read.data.input(0), read.note)
    if isinstance(x, Image.Image):
        return _opened_picture(x, model, channels)
    return x


def _opened_picture(picture: Image.Image, model: Callable[[Tensor], Any], channels: int) -> Tensor:
    sides = ImageOps.exif_transpose(picture).size
    own = sides[0] if sides[0] == sides[1] else IMAGENET_SIZE
    size, why = wanted_size(model, channels, own)
    note = "" if is_kept(sides, size, "fit") else f"{treatment(Counter([sides]), size, 'fit')} ({why})"
    return _told(square_pixels(picture, size, channels), note)


def _told(pixels: Tensor, note: str) -> Tensor:
    """The pixels; a warning where a picture was changed."""
    if note and "taken as they are" not in note:
        warnings.warn(note, AttriboundWarning, stacklevel=5)
    return pixels
