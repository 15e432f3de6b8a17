"""The IDX format of MNIST, gzipped or not."""

import gzip
import struct
import zlib
from pathlib import Path

import numpy as np
import torch

from attribound.data.arrays import Arrays
from attribound.errors import StoredDataError

_SPLITS = {"train": "train", "test": "t10k"}


def read_idx(path: str | Path) -> np.ndarray:
    """The unsigned bytes of an IDX file, in its own shape."""
    path = Path(path)
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise StoredDataError(f"cannot read {path}: {error}") from None
    if len(content) < 4 or content[:3] != b"\x00\x00\x08":
        raise StoredDataError(f"{path} is not an IDX file of bytes (magic number {content[:4].hex() or 'missing'})")
    axes = content[3]
    if axes == 0:
        raise StoredDataError(f"{path} has no axes")
    header = 4 + 4 * axes
    if len(content) < header:
        raise StoredDataError(f"{path} ends within its header")
    shape = struct.unpack(f">{axes}I", content[4:header])
    expected = header + int(np.prod(shape))
    if len(content) != expected:
        raise StoredDataError(f"{path} has {len(content)} bytes, its header promises {expected}")
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)


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
