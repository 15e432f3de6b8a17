"""EfficientNet-Lite0: size, names, padding, and real photographs where the weights were fetched."""

import os
from pathlib import Path

import pytest
import torch
from torch.nn import functional

from attribound.data import open_data, photos
from attribound.errors import FieldError
from attribound.models import load_model, make_model
from attribound.models.efficientnet import SamePadding


def test_size_and_names() -> None:
    model = make_model("efficientnet-lite0").eval()
    assert sum(p.numel() for p in model.parameters()) == 4_652_008  # 4.7 M in the authors' table
    names = set(model.state_dict())
    wanted = {"_conv_stem.weight", "_blocks.0._project_conv.weight", "_blocks.15._expand_conv.weight", "_fc.bias"}
    assert wanted <= names
    assert len(names) == 49 * 6 + 2  # 49 convolutions with batch norm, one linear layer
    with torch.no_grad():
        assert model(torch.rand(2, 3, 64, 64)).shape == (2, 1000)


@pytest.mark.parametrize(("side", "kernel", "stride"), [(224, 3, 2), (225, 3, 2), (14, 5, 1), (7, 5, 2), (112, 5, 2)])
def test_padding_gives_the_size_of_tensorflow(side, kernel, stride) -> None:
    padded = SamePadding(kernel, stride)(torch.ones(1, 1, side, side))
    output = functional.conv2d(padded, torch.ones(1, 1, kernel, kernel), stride=stride)
    assert output.shape[-1] == -(-side // stride)
    before = int((padded[0, 0, side // 2] == 0).float().argmin())
    after = padded.shape[-1] - side - before
    assert 0 <= after - before <= 1, "an odd zero goes right"


def test_a_grey_picture_is_refused_rather_than_broadcast() -> None:
    with pytest.raises(FieldError, match=r"expected pictures of 3 channels, got 1: open them with \?channels=N"):
        make_model("efficientnet-lite0")(torch.zeros(1, 1, 64, 64))


FETCHED = Path(os.environ.get("ATTRIBOUND_DATA", "data"))


@pytest.mark.skipif(
    not (FETCHED / "efficientnet-lite0").exists() or not (FETCHED / "imagenet-photos").exists(),
    reason="needs `attribound data fetch` efficientnet-lite0 and imagenet-photos; set ATTRIBOUND_DATA to their folder",
)
def test_fetched_weights_on_real_photographs() -> None:
    model = load_model(str(FETCHED / "efficientnet-lite0" / "efficientnet-lite0.safetensors"), "efficientnet-lite0")
    images, labels = open_data(f"folder:{FETCHED / 'imagenet-photos'}").batch(range(20))
    with torch.no_grad():
        espresso = model(photos().input(1)[None]).softmax(dim=1)[0, 967]
        right = int((model(images).argmax(dim=1) == labels).sum())
    assert float(espresso) == pytest.approx(0.884, abs=0.01)  # 0.957 from the full-size photograph
    assert right == 17
