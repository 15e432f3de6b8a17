"""CIFAR-10's batches: both layouts give the same images, and a hostile pickle runs nothing."""

import pickle
import tracemalloc

import numpy as np
import pytest
import torch

from attribound.data import read_cifar10
from attribound.errors import StoredDataError

PIXELS = np.random.default_rng(0).integers(0, 256, (4, 3072), np.uint8)
LABELS = [3, 9, 0, 1]


def write_binary(folder) -> None:
    rows = np.concatenate([np.array(LABELS, np.uint8)[:, None], PIXELS], axis=1)
    (folder / "test_batch.bin").write_bytes(rows.tobytes())


def write_python(folder, **changes) -> None:
    batch = {b"data": PIXELS, b"labels": LABELS, b"batch_label": b"testing batch 1 of 1"} | changes
    (folder / "test_batch").write_bytes(pickle.dumps(batch, protocol=2))


@pytest.mark.parametrize("write", [write_binary, write_python])
def test_both_layouts(write, tmp_path) -> None:
    write(tmp_path)
    data = read_cifar10(tmp_path)
    images, labels = data.batch(torch.arange(4))
    assert torch.equal((images * 255).round().to(torch.uint8).flatten(1), torch.from_numpy(PIXELS))
    assert labels.tolist() == LABELS
    assert data.classes[labels[0]] == "cat"
    assert images.shape == (4, 3, 32, 32)


def test_training_part_is_five_files(tmp_path) -> None:
    for part in range(1, 6):
        (tmp_path / f"data_batch_{part}.bin").write_bytes(bytes([part]) + PIXELS[0].tobytes())
    data = read_cifar10(tmp_path, "train")
    assert [data.label(i) for i in range(len(data))] == [1, 2, 3, 4, 5]
    (tmp_path / "data_batch_3.bin").unlink()
    with pytest.raises(StoredDataError, match=r"no data_batch_3\.bin or data_batch_3 in"):
        read_cifar10(tmp_path, "train")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x00" * 100, r"test_batch\.bin has 100 bytes, not a multiple of 3073"),
        (b"", "has 0 bytes"),
        (b"\x0a" + bytes(3072), "has the label 10, expected 0 to 9"),
    ],
)
def test_broken_binary(content, message, tmp_path) -> None:
    (tmp_path / "test_batch.bin").write_bytes(content)
    with pytest.raises(StoredDataError, match=message):
        read_cifar10(tmp_path)


class Hostile:
    """A pickle that would make a file."""

    def __init__(self, path) -> None:
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_a_hostile_batch_runs_nothing(tmp_path) -> None:
    proof = tmp_path / "ran"
    (tmp_path / "test_batch").write_bytes(pickle.dumps({b"data": Hostile(proof), b"labels": [1]}, protocol=2))
    with pytest.raises(StoredDataError, match=r"is not a CIFAR-10 python batch: it asks for .*open"):
        read_cifar10(tmp_path)
    assert not proof.exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"\x80\x02}q\x00.", pickle.dumps([1]), pickle.dumps({b"data": 3, b"labels": [1]}), b"garbage"],
)
def test_foreign_pickles(content, tmp_path) -> None:
    (tmp_path / "test_batch").write_bytes(content)
    with pytest.raises(StoredDataError, match="test_batch is not a CIFAR-10 python batch"):
        read_cifar10(tmp_path)


def test_mismatched_python_batch(tmp_path) -> None:
    write_python(tmp_path, **{})
    batch = {b"data": PIXELS, b"labels": [1, 2]}
    (tmp_path / "test_batch").write_bytes(pickle.dumps(batch, protocol=2))
    with pytest.raises(StoredDataError, match=r"pixels of shape \(4, 3072\) for 2 labels"):
        read_cifar10(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x02]r\xff\xff\xff\x0f.",  # nine bytes that number a memo entry 268 million
        b"\x80\x04\x8e\x00\x00\x00\x00\x01\x00\x00\x00.",  # bytes of a length of 4 gigabytes
    ],
)
def test_tiny_batches_take_no_memory(content, tmp_path) -> None:
    (tmp_path / "test_batch").write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(StoredDataError, match="is not a CIFAR-10 python batch"):
            read_cifar10(tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_labels_within_labels_are_not_unfolded(tmp_path) -> None:
    nested = [0] * 10
    for _ in range(30):
        nested = [nested] * 10
    (tmp_path / "test_batch").write_bytes(pickle.dumps({b"data": PIXELS, b"labels": nested}, protocol=2))
    with pytest.raises(StoredDataError, match="its labels are not a list of whole numbers"):
        read_cifar10(tmp_path)
