"""Images in folders, one folder per class; a picture beside the folders, or in one without a class, has no label."""

import hashlib
import os
from collections import Counter
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import final

from torch import Tensor

from attribound.data.base import Dataset
from attribound.data.classes import class_numbers
from attribound.data.options import Options
from attribound.data.pictures import CROPS, Crop, change_picture, open_picture, picture_size, read_picture
from attribound.data.transform import Transform
from attribound.data.treatment import Sides, treatment
from attribound.errors import ArgumentError, StoredDataError
from attribound.file_quota import check_pixels, shown
from attribound.suggest import PICTURES

_MOST_LOOKED_AT = 1000
"""Pictures whose size is read beforehand; of more, evenly spaced ones."""
IMAGENET_SIZE = 224


@final
class Folder(Dataset):
    """Pictures as RGB (or grey), all of one square size, or as the user's own function reads them.

    Attributes:
        sized: whether the size was chosen.
    """

    def __init__(
        self,
        directory: str | Path,
        size: int | None = None,
        channels: int = 3,
        *,
        crop: Crop = "fit",
        transform: Transform | None = None,
    ) -> None:
        """List the pictures; none is opened before it is asked for.

        Args:
            directory: of the pictures, or of one folder of them per class; or one picture file.
            size: side of the inputs in pixels; None: the pictures' own if all are squares of one size, else 224.
            channels: 3 or 1.
            crop: what happens to a picture of another size.
            transform: makes the inputs in place of all that.
        """
        if channels not in (1, 3):
            raise ArgumentError(f"expected `channels` 1 or 3, got {channels}")
        if size is not None:
            check_pixels("each input", size, size)
        self._given, root = directory, Path(directory)
        single = root.suffix.lower() in PICTURES and root.is_file()
        if not root.is_dir() and not single:
            raise StoredDataError(f"{shown(root)} is not a folder or a picture")
        if single:  # of many, one that cannot be read fails by itself; alone, it is all there is
            open_picture(root, channels)
        folders = [] if single else [path for path in _listed(root) if path.is_dir()]
        found = class_numbers(root, [path.name for path in folders])
        self.classes, self.alphabetical = found.names, found.alphabetical
        self._files: list[tuple[Path, int | None]] = [
            (path, number) for folder, number in zip(folders, found.labels, strict=True) for path in _pictures(folder)
        ]
        self._files += [(path, None) for path in ([root] if single else _pictures(root))]
        if not self._files:
            raise StoredDataError(f"{shown(root)} has no pictures, expected pictures or one folder of them per class")
        self.name = shown(directory) if single else f"folder:{shown(directory)}"
        self._root, self._channels = root.parent if single else root, channels
        self._size, self._crop, self._transform = size, crop, transform
        self.sized = size is not None or transform is not None

    def __len__(self) -> int:
        return len(self._files)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """(channels, size, size), or what the user's function makes."""
        if self._transform is None:
            return self._channels, self.size, self.size
        return tuple(self._transform.example(self._readable, self._channels).shape)

    @property
    def size(self) -> int:
        """Side of the square inputs: as chosen, or the pictures' own if all have the same, or ImageNet's."""
        if self._size is not None:
            return self._size
        sides = {side for pair in self._sides for side in pair}
        return sides.pop() if len(sides) == 1 else IMAGENET_SIZE

    def resized(self, size: int) -> "Folder":
        """The same pictures in another size."""
        return Folder(self._given, size, self._channels, crop=self._crop)

    def input(self, index: int) -> Tensor:
        """One picture of the common shape."""
        path = self._files[index][0]
        if self._transform is None:
            return read_picture(path, self.shape[1], self._channels, self._crop)
        pixels = change_picture(path, self._transform, self._channels)
        if tuple(pixels.shape) != self.shape:
            raise StoredDataError(f"{shown(path)} became {tuple(pixels.shape)}, the first picture {self.shape}")
        return pixels

    def label(self, index: int) -> int | None:
        """Class of its folder, None if it has none."""
        return self._files[index][1]

    def input_name(self, index: int) -> str:
        """Its file, within the folder."""
        return shown(self._files[index][0].relative_to(self._root))

    def sha256(self) -> str:
        """Fingerprint of names and sizes; each record carries the hash of its own pixels."""
        digest = hashlib.sha256(f"{self.shape} {self._crop} {self._transform and self._transform.sha256()}".encode())
        for path, label in self._files:
            digest.update(os.fsencode(path.relative_to(self._root)) + f"\0{label}\0{_bytes(path)}\0".encode())
        return digest.hexdigest()

    @property
    def note(self) -> str:
        """How the pictures are read, in a line."""
        if self._transform is not None:
            return f"{self.name}: {self._transform.note(self._readable, self._channels)}"
        if not self._sides:
            return ""
        some = f"{self._sides.total():,} of {len(self):,} looked at: " if self._sides.total() < len(self) else ""
        return f"{self.name}: {some}{treatment(self._sides, self.size, self._crop)}"

    @cached_property
    def _sides(self) -> Sides:
        """How many of the pictures that can be read have which size."""
        sides: Sides = Counter()
        step = -(-len(self) // _MOST_LOOKED_AT)
        for path, _ in self._files[::step]:
            with suppress(StoredDataError):
                sides[picture_size(path)] += 1
        return sides

    @property
    def _readable(self) -> Path:
        """The first picture whose header can be read, or the first."""
        for path, _ in self._files:
            with suppress(StoredDataError):
                picture_size(path)
                return path
        return self._files[0][0]


def open_folder(typed: Options) -> Folder:
    """`folder:DIR?size=N&channels=1&crop=none&transform=module:function`."""
    channels = int(typed.choice("channels", ("3", "1")))
    own = typed.text("transform")
    if own and (typed.text("size") or typed.text("crop")):
        raise ArgumentError("expected ?size= and ?crop=, or ?transform=, which does both in your own code")
    size = typed.count("size", 1) if typed.text("size") else None
    crop: Crop = typed.choice("crop", CROPS)  # type: ignore[assignment]
    return Folder(typed.where, size, channels, crop=crop, transform=Transform(own) if own else None)


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise StoredDataError(f"cannot list {shown(folder)}: {error.strerror}") from None


def _pictures(folder: Path) -> list[Path]:
    return [path for path in _listed(folder) if path.suffix.lower() in PICTURES and not path.is_dir()]


def _bytes(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
