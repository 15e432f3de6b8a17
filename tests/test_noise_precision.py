"""Noise at extreme units and in every precision: it is the law's, or it is refused."""

from collections.abc import Iterator

import pytest
import torch

from attribound import Saliency, Unit, certify
from attribound.attacks.base import make_problem
from attribound.bounds import LAWS
from attribound.bounds.budgets import Budget
from attribound.errors import ArgumentError
from attribound.fields.families import Around, noisy
from attribound.noise import Gaussian, NoiseOf, UniformBall
from tests.problems import AbsFirst

COUNT = 20_000
"""Each deviation is known to 1 / sqrt(2 * 20,000) = 0.5 %; the tests allow 3 %, six of them."""
UNITS = {
    "far below float32, float64 input": ((1e-46, 1e-46, 1e-46), torch.float64),
    "at the end of float64": ((1e-300, 1.0, 1e300), torch.float64),
    "small": ((1e-8, 1e-8, 1e-8), torch.float64),
    "small, float32 input": ((1e-8, 3e-8, 1e-7), torch.float32),
    "large": ((1e30, 1e30, 1e30), torch.float64),
    "large, float32 input": ((1e30, 2e30, 3e30), torch.float32),
    "mixed, float32 input": ((1e-30, 1.0, 1e30), torch.float32),
    "float16 input": ((1e-3, 1.0, 100.0), torch.float16),
    "bfloat16 input": ((1e-30, 1.0, 1e30), torch.bfloat16),
}


@pytest.fixture(params=[torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def default(request) -> Iterator[torch.dtype]:
    """Torch's default precision, which must not matter."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(request.param)
    yield request.param
    torch.set_default_dtype(before)


@pytest.mark.parametrize("case", UNITS)
@pytest.mark.parametrize("kind", LAWS)
def test_every_law_has_its_deviation_at_any_units(kind, case, default, generator) -> None:
    units, dtype = UNITS[case]
    noise = NoiseOf(LAWS[kind], LAWS[kind].value_of(0.5, 3), Budget(units))
    copies = noisy(torch.zeros(3, dtype=dtype), noise, COUNT, generator)
    relative = copies.double() / torch.tensor(units, dtype=torch.float64)
    assert relative.square().mean(dim=0).sqrt().tolist() == pytest.approx([0.5] * 3, rel=0.03)


@pytest.mark.parametrize("kind", LAWS)
def test_a_scale_and_units_that_only_together_fit_float32(kind, generator) -> None:
    noise = NoiseOf(LAWS[kind], LAWS[kind].value_of(1e-45, 2), Budget((1e45, 1e44)))
    draws = noise.draw(COUNT, torch.zeros(2), generator).double()
    assert draws.square().mean(dim=0).sqrt().tolist() == pytest.approx([1.0, 0.1], rel=0.03)


LOST = {
    "below float32": (Gaussian(1.0, scale=[1.0, 1e-46]), [0.0, 0.0], torch.float32),
    "below float32, without units": (Gaussian(1e-46), [0.0, 0.0], torch.float32),
    "below float16": (Gaussian(1.0, scale=[1e-8, 1e-8]), [0.0, 0.0], torch.float16),
    "a ball below float32": (UniformBall(1e-40), [0.0, 0.0], torch.float32),
    "below float64": (Gaussian(1e-200, scale=[1e-200, 1.0]), [0.0, 0.0], torch.float64),
    "below the spacing at the value": (Gaussian(1.0, scale=[1.0, 1e-4]), [0.0, 1e6], torch.float32),
    "below the spacing at a negative value": (Gaussian(1e-4), [-1e6, 0.0], torch.float32),
    "below the spacing of bfloat16": (Gaussian(0.005), [1.0, 0.0], torch.bfloat16),
}


@pytest.mark.parametrize("name", LOST)
def test_noise_that_rounding_swallows_is_refused(name, generator) -> None:
    noise, x, dtype = LOST[name]
    message = f"expected noise that {str(dtype)[6:]} can hold: a deviation of .* at the value .* is less than"
    for draw in (
        lambda point: noisy(point, noise, 4, generator),
        lambda point: noise.onto(point[None], generator),
        lambda point: certify(Unit(Saliency(AbsFirst())), point, 0, noise=noise, samples=64),
    ):
        with pytest.raises(ArgumentError, match=message):
            draw(torch.tensor(x, dtype=dtype))


@pytest.mark.parametrize(("unit", "dtype"), [(1e38, torch.float32), (1e4, torch.float16), (1e307, torch.float64)])
def test_noise_that_overflows_is_refused(unit, dtype, generator) -> None:
    with pytest.raises(ArgumentError, match=r"a deviation of .* at the value 1 leaves float"):
        noisy(torch.ones(2, dtype=dtype), Gaussian(1.0, scale=[1.0, unit]), 4, generator)


@pytest.mark.parametrize("value", [1.0, 3.0, 1e3, 1e6, -2.0e7])
def test_the_noise_as_applied_deviates_as_the_law_says_wherever_it_is_accepted(value, generator) -> None:
    """At the finest noise that is accepted, x + noise - x has the law's deviation within 5 %, and 2 % for chance."""
    x = torch.full((2,), value)
    deviation = abs(value) * torch.finfo(torch.float32).eps * 1.0001
    applied = noisy(x, Gaussian(deviation), COUNT, generator).double() - x.double()
    assert applied.square().mean(dim=0).sqrt().tolist() == pytest.approx([deviation] * 2, rel=0.07)
    with pytest.raises(ArgumentError, match="expected noise that float32 can hold"):
        noisy(x, Gaussian(deviation * 0.9), 4, generator)


def test_a_kink_is_seen_at_the_smallest_units() -> None:
    """sign(y_1) one deviation from its kink: the exact map keeps 0.68 of its length, not all of it."""
    x = torch.tensor([1e-46, 0.0], dtype=torch.float64)
    certificate = certify(Unit(Saliency(AbsFirst())), x, 0, noise=Gaussian(1.0, scale=[1e-46, 1e-46]), samples=4096)
    assert certificate.norm == pytest.approx(AbsFirst.smoothed_gaussian(1.0, 1.0), abs=0.06)  # five standard errors


def test_attacks_count_changes_in_float64_units(default) -> None:
    units = [1e-46, 1e-50]
    x = torch.zeros(2, dtype=torch.float64)
    family = Around(Unit(Saliency(AbsFirst())), 0, x)
    problem = make_problem(family, Gaussian(1.0, scale=units), 0.5, samples=64)
    change = torch.tensor([3.0, 4.0], dtype=torch.float64)
    changed = problem.at(change)
    assert changed.x.tolist() == pytest.approx([3e-46, 4e-50])
    assert float(problem.in_units(changed.shift).norm()) == pytest.approx(5.0)
    assert problem.budget.size(changed.shift.numpy()) == pytest.approx(5.0)
    assert changed.x.dtype == problem.pulled(change).dtype == torch.float64
