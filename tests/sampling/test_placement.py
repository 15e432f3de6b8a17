"""Where tensors are: on the meta device, which computes shapes only, whatever is left on the processor is an error.

Numbers cannot be read there and torch has no autocast for it, so statistics and Grad-CAM are tried by a person with an
accelerator (scripts/tools/check_accelerator.py).
"""

import pytest
import torch
from torch import nn

import attribound as ab
from attribound.sampling import Around, AtPoint

META = torch.device("meta")


@pytest.fixture
def model():
    layers = nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 3)
    return nn.Sequential(*layers).eval().to(META)


FIELDS = {
    "saliency": ab.Saliency,
    "probability": lambda model: ab.Saliency(model, output="probability"),
    "pooled": lambda model: ab.Centred(ab.Pooled(ab.Saliency(model), 2)),
}


@pytest.mark.parametrize("name", FIELDS)
def test_maps_are_made_where_the_input_is(name, model) -> None:
    family = Around(ab.Unit(FIELDS[name](model)), 1, torch.zeros(1, 8, 8, device=META))
    shifts = torch.zeros(6, 1, 8, 8, device=META)
    maps, logits = AtPoint(ab.Gaussian(0.5), batch=4, classes=True).explain(family, shifts, torch.Generator())
    assert (maps.device, maps.dtype, len(maps)) == (META, torch.float64, 6)
    assert logits.device == META


def test_a_tensor_left_on_the_processor_is_found(model) -> None:
    """That the test above would see a mistake."""
    with pytest.raises((RuntimeError, NotImplementedError)):
        ab.Unit(ab.Saliency(model)).attribute(torch.zeros(2, 1, 8, 8), 1)
