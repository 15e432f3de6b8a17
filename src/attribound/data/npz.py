"""A numpy archive with the arrays `images` (or `x`) and, if there are labels, `labels` (or `y`)."""

import math
import zipfile
from pathlib import Path
from typing import IO

import numpy as np
import torch

from attribound.data.arrays import Arrays
from attribound.data.options import Options
from attribound.errors import StoredDataError
from attribound.file_quota import check_bytes, reason, shown, size_of

_RANGES = ("unit", "any")


def open_npz(typed: Options) -> Arrays:
    """`npz:FILE?range=any`."""
    return read_npz(typed.where, any_range=typed.choice("range", _RANGES) == "any")


def read_npz(path: str | Path, *, any_range: bool = False) -> Arrays:
    """Inputs of any shape, with or without labels.

    Args:
        path: the archive.
        any_range: the inputs are (N, ...) numbers of any size: sequences, signals, embeddings. Otherwise (N, F) are
            features, and (N, H, W) or (N, C, H, W) are pictures: bytes, or floats in [0, 1].
    """
    path = Path(path)
    stored = size_of(path)
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist()]
            images = _array(archive, _pick(names, ("images", "x")), stored)
            labels = _array(archive, _pick(names, ("labels", "y")), stored)
    except StoredDataError as error:
        raise StoredDataError(f"{shown(path)}: {error}") from None
    except Exception as error:  # whatever a foreign file makes numpy and zipfile raise
        raise StoredDataError(f"cannot read {shown(path)}: {reason(error)}") from None
    if images is None:
        raise StoredDataError(f"{shown(path)} has no array `images` (or `x`); it has {', '.join(names) or 'nothing'}")
    _check_inputs(images, any_range, path)
    if labels is not None:
        _check_labels(labels, images, path)
    inputs = torch.from_numpy(images if images.dtype == np.uint8 and not any_range else images.astype(np.float32))
    return Arrays(
        inputs[:, None] if images.ndim == 3 and not any_range else inputs,
        None if labels is None else torch.from_numpy(labels.astype(np.int64)),
        f"npz:{shown(path)}",
    )


def _pick(names: list[str], wanted: tuple[str, str]) -> str | None:
    return next((name for name in wanted if name in names), None)


def _array(archive: zipfile.ZipFile, name: str | None, stored: int) -> np.ndarray | None:
    """One array, if its header says that there is room for it."""
    if name is None:
        return None
    with archive.open(f"{name}.npy") as file:
        shape, fortran, kind = _header(file)
        if kind.hasobject:
            raise StoredDataError(f"`{name}` holds Python objects, expected numbers")
        wanted = math.prod(shape) * kind.itemsize
        check_bytes(f"`{name}`", wanted, stored)
        content = file.read(wanted)
    if len(content) != wanted:
        raise StoredDataError(f"the header of `{name}` promises {wanted} bytes, it has {len(content)}")
    return np.frombuffer(content, kind).reshape(shape, order="F" if fortran else "C").copy()


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(file)
    return np.lib.format.read_array_header_2_0(file)


def _check_inputs(images: np.ndarray, any_range: bool, path: Path) -> None:
    if images.ndim < 2:
        raise StoredDataError(f"{shown(path)}: inputs have shape {images.shape}, expected (N, ...)")
    if images.dtype.kind not in "fiu":
        raise StoredDataError(f"{shown(path)}: expected inputs that are bytes or floats, got {images.dtype}")
    if any_range or images.ndim == 2 or images.dtype == np.uint8:
        return
    finite = images[np.isfinite(images)]
    if finite.size and (finite.min() < 0 or finite.max() > 1):
        raise StoredDataError(
            f"{shown(path)}: expected pixels in [0, 1] (or unsigned bytes); for inputs of any range type "
            f"npz:{shown(path)}?range=any"
        )


def _check_labels(labels: np.ndarray, images: np.ndarray, path: Path) -> None:
    if labels.ndim != 1 or len(images) != len(labels):
        raise StoredDataError(
            f"{shown(path)}: inputs have shape {images.shape} and labels {labels.shape}, expected (N, ...), (N,)"
        )
    if labels.dtype.kind not in "iu" or (len(labels) and labels.min() < 0):
        raise StoredDataError(f"{shown(path)}: expected labels 0, 1, 2, ..., got {labels.dtype}")
