"""What people type after `--data`."""

from collections.abc import Callable
from pathlib import Path

from attribound.data.arrays import Arrays
from attribound.data.base import Dataset
from attribound.data.cifar import read_cifar10
from attribound.data.folder import IMAGENET_SIZE, Folder
from attribound.data.idx import read_mnist
from attribound.data.npz import read_npz
from attribound.data.sample import mnist_sample, photos
from attribound.errors import ArgumentError

SPECS = "mnist-sample, photos, mnist:DIR, cifar10:DIR, folder:DIR[?size=N] or npz:FILE"

_READERS: dict[str, Callable[[str, str], Dataset]] = {
    "mnist": read_mnist,
    "cifar10": read_cifar10,
    "folder": lambda where, _: _folder(where),
    "npz": lambda where, _: read_npz(Path(where)),
}


def open_data(spec: str, split: str = "test") -> Dataset:
    """The data set of a spec; `split` ("train" or "test") matters where the format has both."""
    if spec == "mnist-sample":
        return Arrays(*mnist_sample(), name=spec)
    if spec.partition("?")[0] == "photos":
        return photos(_size(spec)[1])
    kind, colon, where = spec.partition(":")
    if kind not in _READERS or not colon or not where:
        raise ArgumentError(f"expected --data {SPECS}, got {spec!r}")
    return _READERS[kind](where, split)


def has_splits(spec: str) -> bool:
    """Whether the format separates training from test data."""
    return spec.partition(":")[0] in {"mnist", "cifar10"}


def _folder(where: str) -> Folder:
    directory, size = _size(where)
    return Folder(directory, size)


def _size(where: str) -> tuple[str, int]:
    """Split `DIR?size=N`."""
    directory, mark, size = where.rpartition("?size=")
    if not mark:
        return where, IMAGENET_SIZE
    if not size.isdecimal() or int(size) < 1:
        raise ArgumentError(f"expected ?size= a whole number of pixels, got {size!r}")
    return directory, int(size)
