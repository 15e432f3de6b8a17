"""Images in folders, one folder per class."""

import hashlib
from pathlib import Path
from typing import final

import numpy as np
import torch
from PIL import Image, UnidentifiedImageError
from torch import Tensor

from attribound.data.base import Dataset
from attribound.errors import StoredDataError

_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm"})
_MARGIN = 256 / 224
IMAGENET_SIZE = 224


@final
class Folder(Dataset):
    """Pictures as RGB: the shorter side resized to 8/7 of `size`, then the centre square of `size` pixels."""

    def __init__(self, directory: str | Path, size: int = IMAGENET_SIZE) -> None:
        """List the pictures; none is opened before it is asked for."""
        root = Path(directory)
        if not root.is_dir():
            raise StoredDataError(f"{root} is not a folder")
        folders = sorted(path for path in root.iterdir() if path.is_dir())
        self.classes = tuple(path.name for path in folders)
        self._files = [
            (path, label)
            for label, folder in enumerate(folders)
            for path in sorted(folder.iterdir())
            if path.suffix.lower() in _SUFFIXES
        ]
        if not self._files:
            raise StoredDataError(f"{root} has no pictures in folders, expected one folder per class")
        self.name, self._root, self._size = f"folder:{directory}", root, size

    def __len__(self) -> int:
        return len(self._files)

    def image(self, index: int) -> Tensor:
        """One picture, (3, size, size)."""
        path, _ = self._files[index]
        try:
            with Image.open(path) as picture:
                return as_pixels(picture, self._size)
        except (OSError, UnidentifiedImageError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            raise StoredDataError(f"cannot read the picture {path}: {error}") from None

    def label(self, index: int) -> int:
        """Number of its folder, in alphabetical order."""
        return self._files[index][1]

    def sha256(self) -> str:
        """Fingerprint of names and sizes; each record carries the hash of its own pixels."""
        digest = hashlib.sha256(str(self._size).encode())
        for path, _ in self._files:
            digest.update(f"{path.relative_to(self._root)}\0{path.stat().st_size}\0".encode())
        return digest.hexdigest()


def as_pixels(picture: Image.Image, size: int) -> Tensor:
    """Resize and crop a picture to (3, size, size) in [0, 1]."""
    scale = round(size * _MARGIN) / min(picture.size)
    width, height = (max(size, round(side * scale)) for side in picture.size)
    left, top = (width - size) // 2, (height - size) // 2
    resized = picture.convert("RGB").resize((width, height), Image.Resampling.BILINEAR)
    pixels = np.asarray(resized.crop((left, top, left + size, top + size)))
    return torch.from_numpy(pixels.copy()).permute(2, 0, 1).float().div_(255)
