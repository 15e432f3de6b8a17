"""Inputs and models as people have them: the answer is that of the tensor and the field that were meant."""

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import attribound as ab
from attribound.data.pictures import read_picture
from attribound.errors import ArgumentError, AttriboundWarning, StoredDataError

NOISE = ab.Gaussian(0.1)


@pytest.fixture(scope="module")
def model() -> nn.Module:
    torch.manual_seed(0)
    layers = nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(64, 3)
    return nn.Sequential(*layers).eval()


@pytest.fixture
def photo(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "photo.png")
    return tmp_path / "photo.png"


def same(one: ab.Certificate, other: ab.Certificate) -> bool:
    return one.record.input_sha256 == other.record.input_sha256 and one.cosine(0.05) == other.cosine(0.05)


def test_a_picture_file_and_an_opened_picture_are_the_tensor(model, photo):
    field = ab.Unit(ab.GradCAM(model, "0"))
    pixels = read_picture(photo, 32)
    expected = ab.certify(field, pixels, noise=NOISE, samples=64)
    for x in (photo, str(photo), Image.open(photo), pixels.numpy()):
        assert same(ab.certify(field, x, noise=NOISE, samples=64), expected)


def test_a_model_and_the_name_of_a_method_are_the_field(model, photo):
    expected = ab.certify(ab.Unit(ab.GradCAM(model, "0")), photo, noise=NOISE, samples=64)
    certificate = ab.certify(model, photo, method="gradcam:0", noise=NOISE, samples=64)
    assert same(certificate, expected)
    assert "scaled to length 1" in certificate.limit_source
    sheet = ab.tolerance(model, photo, "brightness:3", method="gradcam:0")
    assert sheet["brightness"].reach(0.8) == ab.tolerance(
        ab.Unit(ab.GradCAM(model, "0")), read_picture(photo, 32), "brightness:3"
    )["brightness"].reach(0.8)


def test_a_picture_that_is_changed_is_said(model, photo):
    model.input_size = 20
    try:
        with pytest.warns(AttriboundWarning, match=r"1 picture of 32 x 32 .* \(the size that the model states\)"):
            certificate = ab.certify(model, Image.open(photo), method="saliency", noise=NOISE, samples=16)
        with pytest.warns(AttriboundWarning, match=r"cut to the centre 20 x 20"):
            assert same(certificate, ab.certify(model, photo, method="saliency", noise=NOISE, samples=16))
    finally:
        del model.input_size
    assert certificate.record.dim == 3 * 20 * 20


def test_the_user_s_own_transform_reads_the_picture(model, photo):
    def halved(picture: Image.Image) -> torch.Tensor:
        return torch.from_numpy(np.asarray(picture, np.float32) / 510).permute(2, 0, 1)

    expected = ab.certify(model, read_picture(photo, 32) / 2, method="saliency", noise=NOISE, samples=16)
    for x in (photo, Image.open(photo)):
        given = ab.certify(model, x, method="saliency", transform=halved, noise=NOISE, samples=16)
        assert given.cosine(0.05) == pytest.approx(expected.cosine(0.05), abs=1e-4)


def test_what_was_not_meant(model, photo):
    with pytest.raises(ArgumentError, match="or method='saliency' with Sequential"):
        ab.certify(model, photo, noise=NOISE)
    with pytest.raises(ArgumentError, match="expected a model with method='gradcam', got the field Unit"):
        ab.certify(ab.Unit(ab.Saliency(model)), photo, method="gradcam", noise=NOISE)
    with pytest.raises(ArgumentError, match=r"expected a field such as .*, got int"):
        ab.certify(3, photo, noise=NOISE)
    with pytest.raises(StoredDataError, match="is not a folder or a picture"):
        ab.certify(model, "none.png", method="saliency", noise=NOISE)
