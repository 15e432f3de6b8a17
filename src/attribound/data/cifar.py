"""CIFAR-10 as its authors give it: binary batches or python batches.

The python batches are pickles. They are read by an unpickler that can build only lists, dictionaries, text, numbers
and the record of a byte array: nothing of what the file names is ever called.
"""

import pickle
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attribound.data.arrays import Arrays
from attribound.errors import StoredDataError
from attribound.file_quota import read_bytes, reason

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_SPLITS = {"train": [f"data_batch_{part}" for part in range(1, 6)], "test": ["test_batch"]}
_PIXELS = 3 * 32 * 32


def read_cifar10(directory: str | Path, split: str = "test") -> Arrays:
    """CIFAR-10 images (3, 32, 32) from a folder of batches."""
    batches = [_read_batch(Path(directory), name) for name in _SPLITS[split]]
    images = np.concatenate([images for images, _ in batches]).reshape(-1, 3, 32, 32)
    labels = np.concatenate([labels for _, labels in batches])
    return Arrays(torch.from_numpy(images), torch.from_numpy(labels), f"cifar10:{directory}", CLASSES)


def _read_batch(directory: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    for path, read in ((directory / f"{name}.bin", _read_binary), (directory / name, _read_python)):
        if path.exists():
            images, labels = read(path)
            if len(labels) and labels.max() >= len(CLASSES):
                raise StoredDataError(f"{path} has the label {labels.max()}, expected 0 to 9")
            return images, labels
    raise StoredDataError(f"no {name}.bin or {name} in {directory}")


def _read_binary(path: Path) -> tuple[np.ndarray, np.ndarray]:
    content = np.frombuffer(read_bytes(path), np.uint8)
    if not len(content) or len(content) % (1 + _PIXELS):
        raise StoredDataError(f"{path} has {len(content)} bytes, not a multiple of {1 + _PIXELS} (label and pixels)")
    rows = content.reshape(-1, 1 + _PIXELS)
    return rows[:, 1:].copy(), rows[:, 0].astype(np.int64)


def _read_python(path: Path) -> tuple[np.ndarray, np.ndarray]:
    content = read_bytes(path)
    try:
        batch = _PlainUnpickler(BytesIO(content), encoding="bytes").load()
        images, labels = batch[b"data"].array(), _labels(batch[b"labels"])
    except Exception as error:  # whatever a foreign pickle makes an unpickler raise
        raise StoredDataError(f"{path} is not a CIFAR-10 python batch: {reason(error)}") from None
    if images.shape != (len(labels), _PIXELS):
        raise StoredDataError(f"{path} has pixels of shape {images.shape} for {len(labels)} labels")
    return images, labels


def _labels(stored: Any) -> np.ndarray:
    """A flat list of numbers; lists within lists could unfold to anything."""
    if not isinstance(stored, list) or not all(isinstance(label, int) and 0 <= label < 256 for label in stored):
        raise ValueError("its labels are not a list of whole numbers")
    return np.array(stored, np.int64)


class _Record:
    """Remembers what a pickle wanted to build, and builds nothing."""

    def __init__(self, *_: object) -> None:
        self.state: tuple[Any, ...] = ()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.state = state

    def array(self) -> np.ndarray:
        """The byte array of a numpy pickle: (version, shape, dtype, is_fortran, bytes)."""
        _, shape, _, fortran, content = self.state
        return np.frombuffer(bytes(content), np.uint8).reshape(shape, order="F" if fortran else "C").copy()


class _PlainUnpickler(pickle._Unpickler):  # type: ignore[misc, name-defined, unused-ignore]
    """Python's own unpickler: the one in C takes gigabytes for nine bytes that number a memo entry highly."""

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("numpy") and name in {"_reconstruct", "ndarray", "dtype"}:
            return _Record
        if (module, name) == ("_codecs", "encode"):  # how Python 3 writes bytes in an old protocol
            return lambda text, _: text.encode("latin1")
        raise pickle.UnpicklingError(f"it asks for {module}.{name}, which a batch of images does not need")
