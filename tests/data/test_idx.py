"""MNIST's IDX files."""

import gzip
import struct
import tracemalloc

import numpy as np
import pytest
import torch

from attribound.data import read_idx, read_mnist
from attribound.errors import StoredDataError


def idx(array: np.ndarray) -> bytes:
    return b"\x00\x00\x08" + bytes([array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


@pytest.mark.parametrize("packed", [False, True])
def test_read_mnist(packed, tmp_path) -> None:
    pixels = np.arange(2 * 28 * 28, dtype=np.uint32).astype(np.uint8).reshape(2, 28, 28)
    for name, array in (("images-idx3", pixels), ("labels-idx1", np.array([3, 4], np.uint8))):
        content = idx(array)
        path = tmp_path / f"t10k-{name}-ubyte{'.gz' if packed else ''}"
        path.write_bytes(gzip.compress(content) if packed else content)
    data = read_mnist(tmp_path)
    images, labels = data.batch([0, 1])
    assert torch.equal((images[:, 0] * 255).round().to(torch.uint8), torch.from_numpy(pixels))
    assert torch.equal(images[1], data.input(1))
    assert float(images.max()) == 1.0
    assert labels.tolist() == [3, 4]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x00\x00\x0d\x01", r"is not an IDX file of bytes \(magic number 00000d01\)"),
        (b"", r"magic number missing"),
        (b"\x00\x00\x08\x03\x00", "ends within its header"),
        (idx(np.zeros((3, 4), np.uint8)) + b"!", "promises 12 bytes, it has more"),
        (b"\x00\x00\x08\x03" + b"\xff" * 12, "would take .* bytes of memory, expected at most 536,870,912"),
        (idx(np.zeros((3, 4), np.uint8))[:-1], "promises 12 bytes, it has only 11"),
    ],
)
def test_broken_idx_files(content, message, tmp_path) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(StoredDataError, match=message):
        read_idx(tmp_path / "x")


@pytest.mark.parametrize(
    "content", [b"no gzip", gzip.compress(idx(np.arange(40, dtype=np.uint8)))[:-9]], ids=["other", "cut"]
)
def test_broken_gzip_names_the_file(content, tmp_path) -> None:
    (tmp_path / "x.gz").write_bytes(content)
    with pytest.raises(StoredDataError, match=r"cannot read .*x\.gz"):
        read_idx(tmp_path / "x.gz")


def test_missing_and_mismatched_mnist(tmp_path) -> None:
    with pytest.raises(StoredDataError, match="no t10k-images-idx3-ubyte or"):
        read_mnist(tmp_path)
    (tmp_path / "t10k-images-idx3-ubyte").write_bytes(idx(np.zeros((2, 28, 28), np.uint8)))
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(idx(np.zeros(3, np.uint8)))
    with pytest.raises(StoredDataError, match="has 2 test images but 3 labels"):
        read_mnist(tmp_path)


def test_a_gzip_bomb_is_not_unpacked(tmp_path) -> None:
    (tmp_path / "x.gz").write_bytes(gzip.compress(idx(np.zeros(4, np.uint8)) + bytes(50_000_000)))
    tracemalloc.start()
    try:
        with pytest.raises(StoredDataError, match="promises 4 bytes, it has more"):
            read_idx(tmp_path / "x.gz")
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()
