"""Pictures are not changed without a word: sizes, crops, the user's own transform, and what the line says."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from attribound import cli
from attribound.data import Folder, fitted, open_data, runs_code
from attribound.errors import ArgumentError, StoredDataError
from attribound.models import SmallCNN, resnet20, vit_tiny
from attribound.models.sizes import only_size, stated_size

ANY_SIZE = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 10)).eval()


def noisy_pictures(folder, *sides: tuple[int, int]) -> list[np.ndarray]:
    """Store random pictures of these widths and heights; their pixels."""
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    arrays = [rng.integers(0, 256, (height, width, 3), np.uint8) for width, height in sides]
    for number, array in enumerate(arrays):
        Image.fromarray(array).save(folder / f"{number}.png")
    return arrays


def flat(size: int, channels: int = 3) -> nn.Module:
    """A model that accepts one size only."""
    return nn.Sequential(nn.Flatten(), nn.Linear(channels * size * size, 10)).eval()


def test_a_picture_of_the_asked_size_is_taken_to_the_bit(tmp_path) -> None:
    array = noisy_pictures(tmp_path, (64, 64))[0]
    wanted = torch.from_numpy(array).permute(2, 0, 1) / 255
    assert torch.equal(open_data(f"folder:{tmp_path}?size=64").input(0), wanted)
    assert torch.equal(open_data(f"folder:{tmp_path}?size=64&crop=none").input(0), wanted)
    assert torch.equal(open_data(f"folder:{tmp_path}").input(0), wanted)
    cropped = open_data(f"folder:{tmp_path}?size=64&crop=centre").input(0)
    assert not torch.allclose(cropped, wanted, atol=0.1)


def test_crop_none_keeps_the_whole_picture(tmp_path) -> None:
    picture = np.zeros((32, 64, 3), np.uint8)
    picture[:, :4] = 255  # at the edge, which the centre crop cuts off
    Image.fromarray(picture).save(tmp_path / "x.png")
    assert float(Folder(tmp_path, 32).input(0).max()) == 0.0
    whole = Folder(tmp_path, 32, crop="none")
    assert float(whole.input(0)[:, :, 0].min()) > 0.9
    assert "resized as a whole to 32 x 32, which changes proportions" in whole.note
    with pytest.raises(ArgumentError, match=r"expected \?crop= fit or centre or none, got 'left'"):
        open_data(f"folder:{tmp_path}?crop=left")


@pytest.mark.parametrize(
    ("model", "size", "why"),
    [
        (flat(48), 48, "accepts"),
        (flat(299), 299, "accepts"),
        (vit_tiny().eval(), 32, "accepts"),
        (ANY_SIZE, 64, "states no size"),
        (resnet20().eval(), 64, "states no size"),
    ],
)
def test_the_models_own_size_comes_first(model, size, why, tmp_path) -> None:
    noisy_pictures(tmp_path, (64, 64), (64, 64))
    spec = f"folder:{tmp_path}"
    found = fitted(spec, open_data(spec), model)
    assert found.spec == f"{spec}?size={size}"
    assert found.data.shape == (3, size, size)
    assert f"({size} x {size}: the" in found.note
    assert why in found.note
    assert torch.equal(open_data(found.spec).input(1), found.data.input(1))


def test_a_model_that_states_its_size_is_asked(tmp_path) -> None:
    noisy_pictures(tmp_path, (64, 64))
    spec, model = f"folder:{tmp_path}?channels=1", nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
    for value in (40, (40, 40), (3, 40, 40)):
        model.input_size = value
        assert fitted(spec, open_data(spec), model).spec == f"{spec}&size=40"
    model.input_size = (40, 30)  # no square
    model.config = {"image_size": 36}
    assert stated_size(model) == 36


def test_pictures_of_many_sizes_and_a_model_of_any_get_imagenets(tmp_path) -> None:
    noisy_pictures(tmp_path, (100, 80), (300, 300), (256, 300), (224, 224))
    spec = f"folder:{tmp_path}"
    note = fitted(spec, open_data(spec), ANY_SIZE).note
    assert "4 pictures of 100 x 80 to 300 x 300 pixels; resized to 256 on the shorter side and cut to" in note
    assert "1 of 4 have that size and are taken as they are; 1 of 4 must be enlarged, which adds no detail" in note


def test_what_was_typed_is_not_overruled(tmp_path) -> None:
    noisy_pictures(tmp_path, (64, 64))
    spec = f"folder:{tmp_path}?size=32"
    found = fitted(spec, open_data(spec), flat(64))
    assert (found.spec, found.data.shape) == (spec, (3, 32, 32))
    data = open_data("mnist-sample")
    assert fitted("mnist-sample", data, flat(28)) == ("mnist-sample", data, "")


def test_only_size_tries_no_more_than_it_must() -> None:
    tried = []

    def model(x):
        tried.append(x.shape[-1])
        return torch.zeros(1, 2)

    assert only_size(model, 3) is None
    assert tried == [224, 256]
    assert only_size(SmallCNN(), 1) == 28
    assert only_size(SmallCNN(), 3) is None  # another number of channels: no size helps


OWN = """
import numpy as np
import torch

def own(picture):
    return torch.from_numpy(np.array(picture)).permute(2, 0, 1) / 127.5 - 1

def grey(picture):
    return np.asarray(picture.convert("L"), np.float32)[None, :8, :8] / 255

def wild(picture):
    return torch.rand(3, 4, 4)

def whole(picture):
    return torch.zeros(3, 4, 4, dtype=torch.int64)

def broken(picture):
    return picture.nothing

number = 3
"""


@pytest.fixture
def own_code(tmp_path, monkeypatch):
    """A folder of pictures, and the user's own functions beside it."""
    (tmp_path / "own_reader.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    yield noisy_pictures(tmp_path / "pictures", (64, 64), (64, 64))
    for name in ("own_reader", "own_model"):
        sys.modules.pop(name, None)


def test_the_users_own_transform(own_code) -> None:
    data = open_data("folder:pictures?transform=own_reader:own")
    wanted = torch.from_numpy(own_code[1]).permute(2, 0, 1) / 127.5 - 1
    assert torch.equal(data.input(1), wanted)
    found = fitted("folder:pictures?transform=own_reader:own", data, flat(28))
    assert found.data is data
    assert "your own code own_reader:own as (3, 64, 64); values from -1 to 1, which noise" in found.note
    assert data.sha256() != open_data("folder:pictures").sha256()
    assert open_data("folder:pictures?transform=own_reader:grey").shape == (1, 8, 8)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("wild", "to return the same for a picture each time"),
        ("whole", r"floating-point tensor \(channels, height, width\), got torch.int64 of shape \(3, 4, 4\)"),
        ("broken", "own_reader:broken failed: AttributeError"),
        ("number", "to be a function, got int"),
        ("missing", "cannot load the transform 'own_reader:missing'"),
        ("own&size=3", "which does both in your own code"),
    ],
)
def test_transforms_that_cannot_be_used(function, message, own_code) -> None:
    with pytest.raises((ArgumentError, StoredDataError), match=message):
        assert open_data(f"folder:pictures?transform=own_reader:{function}").shape


def test_pictures_that_a_transform_makes_unequal(own_code, tmp_path) -> None:
    Image.new("RGB", (20, 20)).save(tmp_path / "pictures" / "2.png")
    data = open_data("folder:pictures?transform=own_reader:own")
    with pytest.raises(StoredDataError, match=r"2.png became \(3, 20, 20\), the first picture \(3, 64, 64\)"):
        data.input(2)


def test_only_a_transform_runs_code(own_code) -> None:
    assert runs_code("folder:pictures?size=3&transform=own_reader:own")
    assert not runs_code("folder:pictures?size=3")
    assert not runs_code("mnist-sample")
    assert "own_reader" not in sys.modules


def test_the_command_line_says_what_it_does_to_pictures(own_code, tmp_path, capsys) -> None:
    """End to end, with the model's size and a transform that a record may not choose, least of all to a new process."""
    (tmp_path / "own_model.py").write_text(
        "import torch\nfrom torch import nn\ndef make():\n    torch.manual_seed(0)\n"
        "    return nn.Sequential(nn.Flatten(), nn.Linear(3 * 64 * 64, 4))\n"
    )
    certify = ["--model", "own_model:make", "--samples", "16", "--workers", "1"]

    assert cli.run(["certify", *certify, "--data", "folder:pictures", "--out", "a"]) == 0
    said = "folder:pictures: 2 pictures of 64 x 64 pixels, taken as they are (64 x 64: the size"
    assert said in capsys.readouterr().err
    own = ["--data", "folder:pictures?transform=own_reader:own"]
    assert cli.run(["certify", *certify, *own, "--out", "b"]) == 0
    again = ["verify", "b", "--resample", "1", "--model", "own_model:make"]
    command = [sys.executable, "-m", "attribound", *again]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "whose transform is code: repeat it as --data if you trust it" in refused.stderr
    assert cli.run([*again, *own]) == 0
    assert cli.run(["verify", "a", "--resample", "1", "--model", "own_model:make"]) == 0
