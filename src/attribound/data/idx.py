"""The IDX format of MNIST, gzipped or not."""

import gzip
import math
import struct
import zlib
from pathlib import Path
from typing import BinaryIO

import numpy as np
import torch

from attribound.data.arrays import Arrays
from attribound.errors import StoredDataError
from attribound.file_quota import check_bytes, reason, shown, size_of

_MOST_AXES = 8
_SPLITS = {"train": "train", "test": "t10k"}


def read_idx(path: str | Path) -> np.ndarray:
    """The unsigned bytes of an IDX file, in its own shape."""
    path = Path(path)
    stored = size_of(path)
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            return _read(file, path, stored)
    except (OSError, EOFError, zlib.error) as error:
        raise StoredDataError(f"cannot read {shown(path)}: {reason(error)}") from None


def _read(file: BinaryIO | gzip.GzipFile, path: Path, stored: int) -> np.ndarray:
    """What the header promises, and not a byte more than that is unpacked."""
    magic = file.read(4)
    if len(magic) < 4 or magic[:3] != b"\x00\x00\x08":
        raise StoredDataError(f"{shown(path)} is not an IDX file of bytes (magic number {magic.hex() or 'missing'})")
    axes = magic[3]
    if not 1 <= axes <= _MOST_AXES:
        raise StoredDataError(f"{shown(path)} has {axes} axes, expected 1 to {_MOST_AXES}")
    header = file.read(4 * axes)
    if len(header) < 4 * axes:
        raise StoredDataError(f"{shown(path)} ends within its header")
    shape = struct.unpack(f">{axes}I", header)
    promised = math.prod(shape)
    if not promised:
        raise StoredDataError(f"{shown(path)} is empty: its shape is {shape[:4]}")
    check_bytes(shown(path), promised, stored)
    content = file.read(promised + 1)
    if len(content) != promised:
        rest = "more" if len(content) > promised else f"only {len(content)}"
        raise StoredDataError(f"the header of {shown(path)} promises {promised} bytes, it has {rest}")
    return np.frombuffer(content, np.uint8).reshape(shape)


def read_mnist(directory: str | Path, split: str = "test") -> Arrays:
    """MNIST images (1, 28, 28) from a folder of IDX files."""
    images = read_idx(_find(Path(directory), f"{_SPLITS[split]}-images-idx3-ubyte"))
    labels = read_idx(_find(Path(directory), f"{_SPLITS[split]}-labels-idx1-ubyte"))
    if len(images) != len(labels):
        raise StoredDataError(f"{directory} has {len(images)} {split} images but {len(labels)} labels")
    return Arrays(torch.from_numpy(images.copy())[:, None], torch.from_numpy(labels.copy()), f"mnist:{directory}")


def _find(directory: Path, name: str) -> Path:
    for candidate in (directory / name, directory / f"{name}.gz"):
        if candidate.exists():
            return candidate
    raise StoredDataError(f"no {name} or {name}.gz in {directory}")
