"""The one sampling loop: what the draws depend on, and what is refused among them."""

import math

import pytest
import torch
from torch import nn

from attribound.errors import LimitError, NonFiniteError
from attribound.fields import Assumed, Centred, Clip, GradCAM, IntegratedGradients, Proved, Saliency, Unit
from attribound.fields.families import noisy
from attribound.noise import Gaussian
from attribound.randomness import Purpose, stream
from attribound.sampling.draws import batch_rows
from tests.problems import AbsFirst, Linear, Quadratic
from tests.sampling.running import drawn, run

WEIGHTS = torch.tensor([3.0, -4.0, 0.0, 12.0], dtype=torch.float64)
PLACE = torch.tensor([0.2, 0.1], dtype=torch.float64)
FIELD, NOISE = Unit(Saliency(AbsFirst())), Gaussian(0.5)


def test_draws_depend_on_seed_item_and_purpose() -> None:
    field = Clip(Saliency(Quadratic(torch.eye(2, dtype=torch.float64))), 9.0)
    maps = {
        (seed, item, purpose): float(run(field, PLACE, NOISE, samples=16, seed=seed, item=item, purpose=purpose).map[0])
        for seed in (0, 1, 2**64)
        for item in (0, 1)
        for purpose in (Purpose.CERTIFICATE, Purpose.TUNE, Purpose.REFERENCE)
    }
    assert len(set(maps.values())) == 18


@pytest.mark.parametrize("planned", [1, 2, 7, 8, 100, 2047, 2048, 5000])
def test_chunks_hold_the_planned_draws_and_no_more(planned: int) -> None:
    source = drawn(FIELD, PLACE, 0, NOISE)
    sizes = [len(draws.maps) for draws in source[1].rounds(source[0], planned)]
    assert sum(sizes) == planned
    assert max(sizes) <= 256
    assert len(sizes) >= min(8, planned), "the pilot is a small part"


def test_draws_are_the_field_at_noisy_inputs() -> None:
    """Chunk k comes from the k-th part of the item's stream, whatever was drawn before."""
    source = drawn(FIELD, PLACE, 0, NOISE, seed=5, item=3)
    for part, draws in enumerate(source[1].rounds(source[0], 1000)):
        points = noisy(PLACE, NOISE, len(draws.maps), stream(Purpose.CERTIFICATE, 5, 3, part))
        assert torch.equal(draws.maps, FIELD.attribute(points, 0))
        assert draws.classes is None


def test_classes_are_those_of_the_model_at_the_draws() -> None:
    model = nn.Linear(2, 3).double().requires_grad_(False)
    for field in (Unit(Saliency(model)), Unit(IntegratedGradients(model, steps=2))):
        source = drawn(field, PLACE, 0, NOISE, classes=True, batch=7)
        for part, draws in enumerate(source[1].rounds(source[0], 64)):
            points = noisy(PLACE, NOISE, len(draws.maps), stream(Purpose.CERTIFICATE, 0, 0, part))
            assert draws.classes is not None
            assert torch.equal(draws.classes, model(points).argmax(dim=1))


def test_batches_hold_whole_blocks() -> None:
    field = Unit(IntegratedGradients(AbsFirst(), steps=6, path="random"))
    assert [batch_rows(field, PLACE, batch) for batch in (1, 6, 11, 12, 100)] == [6, 6, 6, 12, 96]
    assert batch_rows(field, PLACE, None) % 6 == 0
    assert batch_rows(FIELD, torch.zeros(10**7), None) == 1


def test_sixteen_photographs_go_through_at_once_where_gradients_stop_at_a_layer() -> None:
    photo, model = torch.zeros(3, 224, 224), AbsFirst()
    assert batch_rows(Unit(Centred(GradCAM(model))), photo, None) == 16
    assert batch_rows(Unit(Saliency(model)), photo, None) == 6


class Poisoned(nn.Module):
    """The gradient is `value` where the first feature is above a threshold, 1 elsewhere."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value

    def forward(self, y):
        factor = torch.where(y[:, 0] > 1.0, self.value, 1.0)
        score = y[:, 1] * factor.detach()
        return torch.stack([score, score * 0], dim=1)


@pytest.mark.parametrize(
    "wrap", [Unit, lambda f: Clip(f, 2.0), lambda f: Assumed(f, 2.0)], ids=["unit", "clip", "assumed"]
)
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_non_finite_draws_are_named(wrap, value) -> None:
    with pytest.raises(NonFiniteError, match=r"the attribution of draw \d+ is NaN or infinite"):
        run(wrap(Saliency(Poisoned(value))), torch.zeros(2), NOISE)


def test_the_named_draw_is_the_first_bad_one() -> None:
    x = torch.zeros(2)
    draws = NOISE.draw(256, x, stream(Purpose.CERTIFICATE, 0))
    first = int((draws[:, 0] > 1.0).nonzero()[0, 0])
    with pytest.raises(NonFiniteError, match=f"of draw {first} is"):
        run(Unit(Saliency(Poisoned(float("nan")))), x, NOISE)


def test_zero_gradients_count_as_zero() -> None:
    result = run(Unit(Saliency(Poisoned(0.0))), torch.zeros(2), NOISE, samples=8192)
    kept = 1 - 0.5 * math.erfc(2 / math.sqrt(2))
    assert float(result.map.norm()) == pytest.approx(kept, abs=5 * 0.15 / 8192**0.5)


@pytest.mark.parametrize("wrap", [lambda f: Assumed(f, 5.0), lambda f: Proved(f, 5.0, reason="wrong")])
def test_draws_beyond_a_claimed_limit_are_errors(wrap) -> None:
    with pytest.raises(LimitError, match="draw 0 has norm 13, above the claimed limit 5: the limit does not hold"):
        run(wrap(Saliency(Linear(WEIGHTS))), torch.zeros(4).double(), NOISE)
