"""Damaged files of every kind: each is read, or refused with one line; nothing else comes out."""

import gzip
import io
import pickle
import random
import struct
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from PIL import Image
from pyarrow import parquet
from safetensors.torch import save

from attribound.data import open_data, read_cifar10, read_idx
from attribound.data.pictures import read_picture
from attribound.errors import AttriboundError
from attribound.models import SmallCNN, load_model

WORDS = (b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x00\x00\x00\x00")


def written(write: Callable[[io.BytesIO], object]) -> bytes:
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def picture(kind: str) -> bytes:
    pixels = np.random.default_rng(0).integers(0, 255, (20, 30, 3), dtype=np.uint8)
    return written(lambda buffer: Image.fromarray(pixels).save(buffer, kind))


def idx() -> bytes:
    return b"\x00\x00\x08\x02" + struct.pack(">2I", 3, 4) + bytes(12)


def batch() -> bytes:
    return pickle.dumps({b"data": np.zeros((2, 3072), np.uint8), b"labels": [1, 2]}, protocol=2)


def read_all(spec: str) -> None:
    data = open_data(spec)
    for index in range(min(len(data), 3)):
        data.input(index)


KINDS: dict[str, tuple[str, Callable[[], bytes], Callable[[Path], object]]] = {
    "png": ("a.png", lambda: picture("PNG"), lambda path: read_picture(path, 28)),
    "jpeg": ("a.jpg", lambda: picture("JPEG"), lambda path: read_picture(path, 28)),
    "tiff": ("a.tif", lambda: picture("TIFF"), lambda path: read_picture(path, 28)),
    "gif": ("a.gif", lambda: picture("GIF"), lambda path: read_picture(path, 28)),
    "npz": (
        "a.npz",
        lambda: written(lambda b: np.savez(b, x=np.ones((4, 3)), y=np.arange(4))),
        lambda path: read_all(f"npz:{path}"),
    ),
    "idx": ("a", idx, read_idx),
    "idx.gz": ("a.gz", lambda: gzip.compress(idx()), read_idx),
    "cifar": ("test_batch", batch, lambda path: read_cifar10(path.parent)),
    "csv": ("a.csv", lambda: b"x,y,z\n1,2,a\n3,4,b\n", lambda path: read_all(f"csv:{path}?label=z")),
    "parquet": (
        "a.parquet",
        lambda: written(lambda b: parquet.write_table(pa.table({"x": [1.0, 2.0], "y": ["a", "b"]}), b)),
        lambda path: read_all(f"parquet:{path}?label=y"),
    ),
    "safetensors": (
        "a.safetensors",
        lambda: save(SmallCNN().state_dict()),
        lambda path: load_model(str(path), "small-cnn"),
    ),
    "torch": (
        "a.pt",
        lambda: written(lambda b: torch.save(SmallCNN().state_dict(), b)),
        lambda path: load_model(str(path), "small-cnn"),
    ),
}


def mutated(content: bytes, rng: random.Random) -> bytes:
    """A few bytes changed, inserted, left out, set to extremes, or the end cut off; mostly near the beginning."""
    changed = bytearray(content)
    for _ in range(rng.choice([1, 2, 4, 16])):
        place = min(rng.randrange(len(content)), rng.choice([64, 512, len(content)]))
        kind = rng.randrange(5)
        if kind == 0:
            changed[place : place + 1] = bytes([rng.randrange(256)])
        elif kind == 1:
            changed[place:place] = rng.randbytes(rng.randrange(1, 9))
        elif kind == 2:
            del changed[place : place + rng.randrange(1, 9)]
        elif kind == 3:
            changed[place : place + 4] = rng.choice(WORDS)
        elif rng.random() < 0.2:
            del changed[place:]
    return bytes(changed)


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_read_or_refused(kind, tmp_path) -> None:
    name, make, read = KINDS[kind]
    torch.manual_seed(0)
    content, rng = make(), random.Random(kind)
    refused: list[str] = []
    (tmp_path / name).write_bytes(content)
    read(tmp_path / name)
    for _ in range(150):
        (tmp_path / name).write_bytes(mutated(content, rng))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # decoders warn of what they can repair
                read(tmp_path / name)
        except AttriboundError as error:
            refused.append(str(error))
    assert len(refused) > 20
    assert max(map(len, refused)) < 700
