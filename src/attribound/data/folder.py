"""Images in folders, one folder per class; a picture beside the folders, or in one without a class, has no label."""

import hashlib
import os
from pathlib import Path
from typing import final

from torch import Tensor

from attribound.data.base import Dataset
from attribound.data.classes import class_numbers
from attribound.data.options import Options
from attribound.data.pictures import read_picture
from attribound.errors import ArgumentError, StoredDataError
from attribound.limits import check_pixels, shown

_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm"})
IMAGENET_SIZE = 224


@final
class Folder(Dataset):
    """Pictures as RGB (or grey): the shorter side resized to 8/7 of `size`, then the centre square of `size` pixels."""

    def __init__(self, directory: str | Path, size: int = IMAGENET_SIZE, channels: int = 3) -> None:
        """List the pictures; none is opened before it is asked for."""
        if channels not in (1, 3):
            raise ArgumentError(f"expected `channels` 1 or 3, got {channels}")
        check_pixels("each input", size, size)
        root = Path(directory)
        if not root.is_dir():
            raise StoredDataError(f"{shown(root)} is not a folder")
        folders = [path for path in _listed(root) if path.is_dir()]
        found = class_numbers(root, [path.name for path in folders])
        self.classes, self.alphabetical = found.names, found.alphabetical
        self._files: list[tuple[Path, int | None]] = [
            (path, number) for folder, number in zip(folders, found.labels, strict=True) for path in _pictures(folder)
        ]
        self._files += [(path, None) for path in _pictures(root)]
        if not self._files:
            raise StoredDataError(f"{shown(root)} has no pictures, expected pictures or one folder of them per class")
        self.name, self._root, self._size, self._channels = f"folder:{shown(directory)}", root, size, channels

    def __len__(self) -> int:
        return len(self._files)

    @property
    def shape(self) -> tuple[int, ...]:
        """(channels, size, size)."""
        return self._channels, self._size, self._size

    def image(self, index: int) -> Tensor:
        """One picture, (channels, size, size)."""
        return read_picture(self._files[index][0], self._size, self._channels)

    def label(self, index: int) -> int | None:
        """Class of its folder, None if it has none."""
        return self._files[index][1]

    def sha256(self) -> str:
        """Fingerprint of names and sizes; each record carries the hash of its own pixels."""
        digest = hashlib.sha256(f"{self._size} {self._channels}".encode())
        for path, label in self._files:
            digest.update(os.fsencode(path.relative_to(self._root)) + f"\0{label}\0{_bytes(path)}\0".encode())
        return digest.hexdigest()


def open_folder(typed: Options) -> Folder:
    """`folder:DIR?size=N&channels=1`."""
    channels = int(typed.choice("channels", ("3", "1")))
    return Folder(typed.where, typed.count("size", IMAGENET_SIZE), channels)


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise StoredDataError(f"cannot list {shown(folder)}: {error.strerror}") from None


def _pictures(folder: Path) -> list[Path]:
    return [path for path in _listed(folder) if path.suffix.lower() in _SUFFIXES and not path.is_dir()]


def _bytes(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
