"""A numpy archive with the arrays `images` (or `x`) and `labels` (or `y`)."""

import zipfile
import zlib
from pathlib import Path

import numpy as np
import torch

from attribound.data.arrays import Arrays
from attribound.errors import StoredDataError


def read_npz(path: str | Path) -> Arrays:
    """Inputs (N, F), (N, H, W) or (N, C, H, W) as bytes, or as floats with pixels in [0, 1]."""
    try:
        with Path(path).open("rb") as file:
            stored = np.load(file, allow_pickle=False)
            if not isinstance(stored, np.lib.npyio.NpzFile):
                raise StoredDataError(f"{path} is one bare array, expected an archive with `images` and `labels`")
            images, labels = (_array(stored, names, path) for names in (("images", "x"), ("labels", "y")))
    except (OSError, EOFError, ValueError, RuntimeError, MemoryError, zipfile.BadZipFile, zlib.error) as error:
        if isinstance(error, StoredDataError):
            raise
        raise StoredDataError(f"cannot read {path}: {error}") from None
    _check(images, labels, path)
    inputs = torch.from_numpy(images if images.dtype == np.uint8 else images.astype(np.float32))
    return Arrays(
        inputs[:, None] if images.ndim == 3 else inputs, torch.from_numpy(labels.astype(np.int64)), f"npz:{path}"
    )


def _array(stored: "np.lib.npyio.NpzFile", names: tuple[str, str], path: str | Path) -> np.ndarray:
    for name in names:
        if name in stored:
            return np.asarray(stored[name])
    raise StoredDataError(
        f"{path} has no array `{names[0]}` (or `{names[1]}`); it has {', '.join(stored) or 'nothing'}"
    )


def _check(images: np.ndarray, labels: np.ndarray, path: str | Path) -> None:
    if images.ndim < 2 or labels.ndim != 1 or len(images) != len(labels):
        raise StoredDataError(
            f"{path}: inputs have shape {images.shape} and labels {labels.shape}, expected (N, ...), (N,)"
        )
    if labels.dtype.kind not in "iu" or (len(labels) and labels.min() < 0):
        raise StoredDataError(f"{path}: expected labels 0, 1, 2, ..., got {labels.dtype}")
    if images.dtype.kind not in "fiu":
        raise StoredDataError(f"{path}: expected inputs that are bytes or floats, got {images.dtype}")
    if images.ndim > 2 and images.dtype != np.uint8 and images.size and not _unit_range(images):
        raise StoredDataError(f"{path}: expected pixels in [0, 1] (or unsigned bytes)")


def _unit_range(images: np.ndarray) -> bool:
    finite = images[np.isfinite(images)]
    return not finite.size or bool(finite.min() >= 0 and finite.max() <= 1)
