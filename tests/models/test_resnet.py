"""Residual networks: sizes, layouts, rows on their own, and real photographs where the weights were fetched."""

import json
import os
from pathlib import Path

import pytest
import torch

from attribound.data import photos
from attribound.models import load_model, make_model
from attribound.models.normalize import Normalize


@pytest.mark.parametrize(
    ("architecture", "weights", "size", "classes"),
    [
        ("resnet20", 272_474, 32, 10),  # 0.27 M in table 6 of He et al. 2016, plus 1 x 1 shortcuts
        ("resnet18", 11_173_962, 32, 10),
        ("resnet50", 25_557_032, 64, 1000),  # torchvision's own count
        (
            "resnet50-keras",
            25_583_592,
            64,
            1000,
        ),  # Keras: 25,636,712 less 53,120 running statistics
    ],
)
def test_sizes(architecture, weights, size, classes) -> None:
    model = make_model(architecture).eval()
    assert sum(p.numel() for p in model.parameters()) == weights
    with torch.no_grad():
        assert model(torch.rand(1, 3, size, size)).shape == (1, classes)


def test_torchvision_names() -> None:
    names = set(make_model("resnet50").state_dict())
    assert len(names) == 320
    wanted = {"conv1.weight", "bn1.running_var", "layer1.0.downsample.1.bias", "layer4.2.conv3.weight", "fc.bias"}
    assert wanted <= names
    assert not any("normalize" in name for name in names)


def test_normalisation_is_inside_and_may_reorder_channels() -> None:
    image = torch.tensor([0.1, 0.5, 0.9]).view(1, 3, 1, 1)
    flipped = Normalize((0.1, 0.2, 0.3), (1.0, 2.0, 1.0), order=(2, 1, 0))(image)
    assert flipped.flatten().tolist() == pytest.approx([0.8, 0.15, -0.2])


def test_strides_of_the_two_layouts() -> None:
    new, old = (make_model(name).layer2[0] for name in ("resnet50", "resnet50-keras"))
    assert (new.conv1.stride, new.conv2.stride) == ((1, 1), (2, 2))
    assert (old.conv1.stride, old.conv2.stride) == ((2, 2), (1, 1))
    assert (old.bn1.eps, new.bn1.eps) == (1e-3, 1e-5)


FETCHED = Path(os.environ.get("ATTRIBOUND_RESNET50", "data/resnet50"))


@pytest.mark.skipif(
    not (FETCHED / "resnet50.safetensors").exists(),
    reason="needs `attribound data fetch resnet50` (95 MB); set ATTRIBOUND_RESNET50 to the folder",
)
def test_fetched_weights_see_a_cat_and_an_espresso() -> None:
    model = load_model(str(FETCHED / "resnet50.safetensors"), "resnet50-keras")
    names = json.loads((FETCHED / "classes.json").read_text())
    data = photos()
    with torch.no_grad():
        seen = [names[int(model(data.input(i)[None]).argmax())] for i in range(2)]
    assert seen[0] in {"tabby", "tiger_cat", "Egyptian_cat"}
    assert seen[1] == data.classes[967] == "espresso"
