"""Labels of folders are the numbers that models use."""

import json

import pytest
import torch
from PIL import Image

from attribound.data import Folder, Unlabelled, label_doubt, open_data, photos
from attribound.data.imagenet import folder_name, imagenet_classes, imagenet_numbers
from attribound.errors import StoredDataError


def folders(root, *names: str) -> None:
    for name in names:
        (root / name).mkdir(parents=True)
        Image.new("RGB", (4, 4)).save(root / name / "x.png")


def labels(data) -> list[int | None]:
    return [data.label(index) for index in range(len(data))]


def test_imagenet_is_complete() -> None:
    names = imagenet_classes()
    assert (len(names), len(imagenet_numbers())) == (1000, 1000)
    assert (names[0], names[281], names[967], names[999]) == ("tench", "tabby", "espresso", "toilet tissue")
    assert imagenet_numbers()["n07920052"] == 967
    assert folder_name(22) == "022_bald_eagle"


def test_the_photos_have_imagenets_labels_or_none() -> None:
    data = photos()
    assert labels(data) == [281, 967, None, None]
    assert data.classes[967] == "espresso"
    assert open_data("photos?size=64").input(0).shape == (3, 64, 64)


def test_numbered_folders(tmp_path) -> None:
    folders(tmp_path, "2_hen", "10", "0_great_cock")
    data = Folder(tmp_path)
    assert labels(data) == [0, 10, 2]
    assert (data.classes[0], data.classes[2], data.classes[3], len(data.classes)) == ("great cock", "hen", "3", 11)


def test_numbers_win_over_names_and_names_are_taken_from_the_file(tmp_path) -> None:
    folders(tmp_path, "1_x")
    (tmp_path / "classes.json").write_text(json.dumps(["a", "b", "c"]))
    data = Folder(tmp_path)
    assert (labels(data), data.classes) == ([1], ("a", "b", "c"))


def test_some_of_imagenets_own_folders(tmp_path) -> None:
    folders(tmp_path, "n07920052", "n01440764")
    data = Folder(tmp_path)
    assert labels(data) == [0, 967]
    assert data.classes[967] == "espresso"


def test_names_in_a_file(tmp_path) -> None:
    folders(tmp_path, "sea_lion", "ant")
    (tmp_path / "classes.json").write_text(json.dumps(["bee", "sea lion", "ant"]))
    assert labels(Folder(tmp_path)) == [2, 1]
    (tmp_path / "classes.json").write_text(json.dumps(["bee", "ant", "ant"]))
    with pytest.raises(StoredDataError, match=r"the folder ant of .* is twice in classes\.json"):
        Folder(tmp_path)
    (tmp_path / "classes.json").write_text(json.dumps(["bee", "ant"]))
    with pytest.raises(StoredDataError, match=r"the folder sea_lion of .* is not in classes\.json"):
        Folder(tmp_path)
    for content in ('{"ant": 1}', "[1]", "[" * 100_000, "no json"):
        (tmp_path / "classes.json").write_text(content)
        with pytest.raises(StoredDataError, match=r"expected .*classes\.json to be a list|cannot read .*classes\.json"):
            Folder(tmp_path)


def test_folders_beside_numbered_ones_have_no_label(tmp_path) -> None:
    folders(tmp_path, "1_hen", "0", "rocket", ".hidden")
    data = Folder(tmp_path)
    assert labels(data) == [None, 0, 1, None]
    assert (data.classes, data.alphabetical) == (("0", "hen"), False)
    (tmp_path / "classes.json").write_text(json.dumps(["cock", "hen", "rocket", ".hidden"]))
    assert labels(Folder(tmp_path)) == [3, 0, 1, 2]
    (tmp_path / "classes.json").write_text(json.dumps(["cock", "hen"]))
    with pytest.raises(StoredDataError, match=r"the folder \.hidden of .* is not in classes\.json"):
        Folder(tmp_path)


def test_folders_beside_imagenets_own_have_no_label(tmp_path) -> None:
    folders(tmp_path, "n07920052", "other")
    assert labels(Folder(tmp_path)) == [967, None]


@pytest.mark.parametrize(("classes", "doubtful"), [(2, False), (3, True), (1000, True)])
def test_alphabetical_labels_are_doubted_unless_every_class_has_a_folder(classes, doubtful, tmp_path) -> None:
    folders(tmp_path, "ant", "cat")
    data = Folder(tmp_path)
    assert (labels(data), data.alphabetical) == ([0, 1], True)
    line = f"has 2 folders in alphabetical order and the model {classes} classes: labels and accuracy are unknown"
    assert (line in label_doubt(data, classes)) == bool(label_doubt(data, classes)) == doubtful
    bare = Unlabelled(data)
    assert (labels(bare), bare.classes, bare.sha256(), bare.name) == ([None, None], (), data.sha256(), data.name)
    assert torch.equal(bare.input(1), data.input(1))


def test_numbers_and_pictures_alone_are_not_doubted(tmp_path) -> None:
    folders(tmp_path / "numbered", "1_hen")
    Image.new("RGB", (4, 4)).save(tmp_path / "y.png")
    assert label_doubt(Folder(tmp_path / "numbered"), 1000) == ""
    (tmp_path / "bare").mkdir()
    (tmp_path / "y.png").rename(tmp_path / "bare" / "y.png")
    assert label_doubt(Folder(tmp_path / "bare"), 1000) == ""


def test_pictures_beside_the_folders_have_no_label(tmp_path) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "y.png")
    data = Folder(tmp_path)
    assert (labels(data), data.classes) == ([None], ())
    with pytest.raises(StoredDataError, match=r"item 0 of folder:.* has no label"):
        data.batch([0])
    assert data.images([0]).shape == (1, 3, 4, 4)
