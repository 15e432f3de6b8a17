"""The embedded sample, the IDX reader and the shipped models."""

import gzip
import json
import struct
from importlib import resources

import numpy as np
import pytest
import torch

from attribound.data import read_idx, read_mnist
from attribound.errors import ArgumentError, StoredDataError
from attribound.models import SHIPPED, load_shipped
from attribound.noise import Gaussian
from attribound.training import accuracy


def idx(array: np.ndarray) -> bytes:
    return b"\x00\x00\x08" + bytes([array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def test_sample(sample) -> None:
    images, labels = sample
    assert images.shape == (300, 1, 28, 28)
    assert torch.bincount(labels).tolist() == [30] * 10
    assert float(images.min()) == 0.0
    assert float(images.max()) == 1.0


@pytest.mark.parametrize(("name", "clean", "noisy"), [("mnist-cnn", 0.97, 0.7), ("mnist-cnn-noise", 0.97, 0.94)])
def test_shipped_models_classify_the_sample(name, clean, noisy, sample) -> None:
    model = load_shipped(name)
    assert accuracy(model, *sample) >= clean
    assert accuracy(model, *sample, noise=Gaussian(0.5)) >= noisy


def test_everything_shipped_is_small_and_has_a_card() -> None:
    weights = resources.files("attribound.models") / "weights"
    for name in SHIPPED:
        card = json.loads((weights / f"{name}.json").read_text())
        assert card["test_accuracy"] >= 0.975
        assert {"data", "objective", "command", "date"} <= set(card)
    files = [*weights.iterdir(), resources.files("attribound.data") / "mnist-sample.npz"]
    assert sum(len(file.read_bytes()) for file in files) < 2_000_000


def test_unknown_model() -> None:
    with pytest.raises(ArgumentError, match=r"expected a shipped model \(mnist-cnn, mnist-cnn-noise\), got 'vgg'"):
        load_shipped("vgg")


@pytest.mark.parametrize("packed", [False, True])
def test_read_mnist(packed, tmp_path) -> None:
    pixels = np.arange(2 * 28 * 28, dtype=np.uint32).astype(np.uint8).reshape(2, 28, 28)
    for name, array in (("images-idx3", pixels), ("labels-idx1", np.array([3, 4], np.uint8))):
        content = idx(array)
        path = tmp_path / f"t10k-{name}-ubyte{'.gz' if packed else ''}"
        path.write_bytes(gzip.compress(content) if packed else content)
    images, labels = read_mnist(tmp_path)
    assert torch.equal((images[:, 0] * 255).round().to(torch.uint8), torch.from_numpy(pixels))
    assert labels.tolist() == [3, 4]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x00\x00\x0d\x01", r"is not an IDX file of bytes \(magic number 00000d01\)"),
        (b"", r"magic number missing"),
        (b"\x00\x00\x08\x03\x00", "ends within its header"),
        (idx(np.zeros((3, 4), np.uint8))[:-1], "has 23 bytes, its header promises 24"),
    ],
)
def test_broken_idx_files(content, message, tmp_path) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(StoredDataError, match=message):
        read_idx(tmp_path / "x")


def test_missing_and_mismatched_mnist(tmp_path) -> None:
    with pytest.raises(StoredDataError, match="no t10k-images-idx3-ubyte or"):
        read_mnist(tmp_path)
    (tmp_path / "t10k-images-idx3-ubyte").write_bytes(idx(np.zeros((2, 28, 28), np.uint8)))
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(idx(np.zeros(3, np.uint8)))
    with pytest.raises(StoredDataError, match="has 2 test images but 3 labels"):
        read_mnist(tmp_path)
