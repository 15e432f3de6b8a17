"""Runs on folders of pictures: an accuracy is only said where labels are the model's numbers."""

from pathlib import Path

import pytest
import torch
from PIL import Image

from attribound import cli
from attribound.runs import Store, summarise
from attribound.runs.engines import Local
from tests.runs.elsewhere import Copies

SHAPE = "?size=28&channels=1"


@pytest.fixture
def digits(tmp_path, sample):
    """Write the first picture of some digits, in folders of given names; reading crops their margin off again."""

    def digits(**names: int) -> str:
        for name, digit in names.items():
            (tmp_path / "data" / name).mkdir(parents=True)
            picture = torch.nn.functional.pad(sample[0][int((sample[1] == digit).nonzero()[0])][0], (2, 2, 2, 2))
            Image.fromarray((picture * 255).byte().numpy()).save(tmp_path / "data" / name / "x.png")
        return f"folder:{tmp_path / 'data'}{SHAPE}"

    return digits


def stored(path: Path) -> tuple[list[int | None], list[str], float | None]:
    """Labels, names of classes, accuracy."""
    with Store.read(path) as store:
        return [one.label for one in store.records()], store.recall("classes"), summarise(store).accuracy


def test_alphabetical_folders_of_a_model_with_more_classes_have_no_labels(digits, make, tmp_path, capsys) -> None:
    data = digits(seven=7, four=4)
    for name, engine in (("here", Local(1)), ("sent", Copies())):
        assert stored(make(name, engine, data=data)) == ([None, None], [], None)
    arguments = ("certify", "--model", "mnist-cnn-noise", "--data", data, "--samples", "16", "--workers", "1")
    assert cli.run([*arguments, "--out", str(tmp_path / "typed")]) == 0
    out, err = capsys.readouterr()
    assert "has 2 folders in alphabetical order and the model 10 classes: labels and accuracy are unknown" in err
    assert "accuracy" not in out
    assert cli.run([*arguments, "--target", "seven", "--out", str(tmp_path / "named")]) == 2
    assert cli.run(["tune", "--model", "mnist-cnn-noise", "--data", data]) == 2
    assert "labels and accuracy are unknown" in capsys.readouterr().err.splitlines()[-1]


def test_some_numbered_folders(digits, make) -> None:
    labels, classes, accuracy = stored(make(data=digits(**{"7_seven": 7, "4": 4, "other": 1})))
    assert (labels, accuracy) == ([4, 7, None], 1.0)
    assert classes[7] == "seven"
