"""A single picture file is data."""

import numpy as np
import pytest
import torch
from PIL import Image

from attribound.data import open_data
from attribound.data.given import given_input
from attribound.errors import ArgumentError, AttriboundWarning, StoredDataError
from attribound.suggest import is_picture


@pytest.fixture
def picture(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (20, 20, 3), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "photo.png")
    Image.fromarray(pixels).save(tmp_path / "other.png")
    return tmp_path / "photo.png"


def test_a_picture_is_a_data_set_of_one(picture):
    data = open_data(str(picture))
    assert len(data) == 1
    assert data.shape == (3, 20, 20)
    assert data.label(0) is None
    assert open_data(f"{picture}?size=10").shape == (3, 10, 10)
    assert open_data(f"{picture}?channels=1").input(0).shape == (1, 20, 20)
    assert data.name == str(picture)


def test_options_may_follow_the_name_in_python_too(picture):
    model = torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten(), torch.nn.Linear(48, 2)).eval()
    assert given_input(str(picture), model).shape == (3, 20, 20)
    with pytest.warns(AttriboundWarning, match="resized as a whole to 8 x 8"):
        assert given_input(f"{picture}?size=8&crop=none", model).shape == (3, 8, 8)
    with pytest.warns(AttriboundWarning, match="cut to the centre 8 x 8"):
        assert given_input(f"{picture}?size=8", model, 1).shape == (1, 8, 8)
    with pytest.raises(ArgumentError, match=r"expected \?size=.* after .*, got 'side=8'"):
        given_input(f"{picture}?side=8", model)


def test_what_is_no_picture(picture):
    with pytest.raises(StoredDataError, match="is not a folder or a picture"):
        open_data(str(picture.with_name("none.png")))
    with pytest.raises(ArgumentError, match="expected --data"):
        open_data("photo.text")
    picture.with_name("empty.jpg").touch()
    picture.with_name("half.png").write_bytes(picture.read_bytes()[:600])
    for name in ("empty.jpg", "half.png"):  # alone, it is all there is; of a folder, it fails by itself
        with pytest.raises(StoredDataError, match=f"cannot read the picture .*{name}"):
            open_data(str(picture.with_name(name)))
    assert len(open_data(f"folder:{picture.parent}?size=20")) == 4
    assert is_picture("photo.JPG?size=3")
    assert not is_picture("folder:photo.jpg")
    assert not is_picture("photos")
