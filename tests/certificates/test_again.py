"""Sampling again: what rounding explains is measured on the draws, said, and told apart from forgery."""

import msgspec
import pytest
import torch
from torch import Tensor, nn

from attribound.certificates.certificate import Certificate
from attribound.certification.again import measure, sample_again
from attribound.certification.certifier import certify
from attribound.fields import Bounded, Clip, Saliency, Unit
from attribound.noise import Gaussian
from tests.sampling.running import drawn

NOISE, DIM = Gaussian(0.5), 40


class Orders(nn.Module):
    """Two classes whose logits are one sum, taken in two orders: only rounding decides between them."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.linspace(1.0, 2.0, DIM))

    def forward(self, x: Tensor) -> Tensor:
        parts = (self.weights * x).unbind(dim=1)
        first, second = torch.zeros(len(x), dtype=x.dtype), torch.zeros(len(x), dtype=x.dtype)
        for part in parts:
            first = first + part
        for part in reversed(parts):
            second = second + part
        return torch.stack([first, second], dim=1)


class Chaos(Orders):
    """A gradient whose direction is the sign of a rounding error."""

    def forward(self, x: Tensor) -> Tensor:
        first, second = super().forward(x).unbind(dim=1)
        side = torch.where((first > second).detach(), x[:, 0], x[:, 1])
        return torch.stack([side, torch.zeros_like(side)], dim=1)


class Kinks(nn.Module):
    """A plain network."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.net = nn.Sequential(nn.Linear(DIM, 64), nn.ReLU(), nn.Linear(64, 2))
        for parameter in self.parameters():
            parameter.data = torch.randn(parameter.shape, generator=generator) / 8

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.net(x)
        return logits


def made(model: nn.Module, **options) -> tuple[Certificate, Bounded, Tensor]:
    field, x = Unit(Saliency(model.eval())), torch.linspace(-1.0, 1.0, DIM)
    return certify(field, x, 0, noise=NOISE, samples=256, seed=1, **options), field, x


def with_count(stored: Certificate, more: int) -> Certificate:
    majority = stored.record.facts["majority"]
    facts = {**stored.record.facts, "majority": {**majority, "count": majority["count"] + more}}
    record = msgspec.structs.replace(stored.record, facts=facts)
    return Certificate(record, stored.map).stating()


def test_what_is_the_same_needs_no_words() -> None:
    stored, field, x = made(Kinks())
    again = sample_again(stored, field, x, NOISE)
    assert (again.problems, again.remarks) == ([], [])


@pytest.mark.parametrize("limit", [1e-9, 1e-5, 1.0])
def test_small_maps_are_compared_as_closely_as_large_ones(limit) -> None:
    """Numbers in units of the limit: where that is 1e-9, all of them are alike up to 1e-9."""
    scale = limit * Kinks().net[2].weight.abs().sum()

    class Small(Kinks):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x) * scale

    field, x = Clip(Saliency(Small().eval()), limit), torch.linspace(-1.0, 1.0, DIM)
    stored = certify(field, x, 0, noise=NOISE, samples=256, seed=1)
    assert sample_again(stored, field, x, NOISE).problems == []
    facts = {**stored.record.facts, "spread": {"eigenvalue": 0.99 * stored.record.eigenvalue_upper}}
    changed = {"facts": facts, "eigenvalue_upper": 0.99 * stored.record.eigenvalue_upper}
    again = sample_again(Certificate(msgspec.structs.replace(stored.record, **changed), stored.map), field, x, NOISE)
    assert len(again.problems) == 2, again.problems
    assert "eigenvalue_upper differs" in again.problems[0]
    assert "spread is not what the same draws prove" in again.problems[1]


def test_a_class_that_rounding_decides_may_be_counted_otherwise() -> None:
    """Every draw is a tie up to rounding, so some others of them might be counted elsewhere: this is said."""
    stored, field, x = made(Orders())
    for more in (-3, 3):
        again = sample_again(with_count(stored, more), field, x, NOISE)
        assert again.problems == []
        assert again.remarks[0].startswith("the facts differ: majority is not what the same draws prove again")
        assert "explained by rounding" in again.remarks[0]


def test_exactly_the_undecided_draws_are_allowed() -> None:
    stored, field, x = made(Orders())
    precision = measure(stored.record, *drawn(field, x, 0, NOISE, 1, classes=True))
    majority = stored.record.facts["majority"]
    assert 0 < precision.gained <= majority["tested"] - majority["count"]
    assert sample_again(with_count(stored, precision.gained), field, x, NOISE).problems == []
    if precision.gained < majority["tested"] - majority["count"]:
        assert sample_again(with_count(stored, precision.gained + 1), field, x, NOISE).problems != []


def test_a_class_that_is_no_tie_must_be_counted_alike() -> None:
    stored, field, x = made(Kinks())
    majority = stored.record.facts["majority"]
    more = 1 if majority["count"] < majority["tested"] else -1
    again = sample_again(with_count(stored, more), field, x, NOISE)
    assert again.problems == ["the facts differ: majority is not what the same draws prove again"]
    assert again.remarks == []


def test_rounding_of_a_plain_network_is_small() -> None:
    """Unit maps in float32 are off by about 1e-7; a flipped kink in one draw of 256 may make it 1e-4 in the mean."""
    stored, field, x = made(Kinks(), cells=(0.3,))
    precision = measure(stored.record, *drawn(field, x, 0, NOISE, 1, classes=True))
    assert 1e-9 < precision.apart < 2e-4
    assert (precision.gained, precision.lost) == (0, 0)
    assert precision.hotter is not None
    assert int(precision.hotter.sum()) <= 8


def test_numbers_that_are_off_by_more_than_rounding_are_refused() -> None:
    stored, field, x = made(Kinks())
    for by, fine in ((1e-9, True), (1e-2, False)):
        record = msgspec.structs.replace(stored.record, fidelity=stored.record.fidelity * (1 - by))
        again = sample_again(Certificate(record, stored.map), field, x, NOISE)
        assert (again.problems == []) is fine, by
        assert again.remarks == []


def test_where_all_is_rounding_nothing_can_be_verified() -> None:
    """A model made so that any difference would be explained explains none."""
    stored, field, x = made(Chaos())
    record = msgspec.structs.replace(stored.record, fidelity=0.123)
    again = sample_again(Certificate(record, stored.map), field, x, NOISE)
    assert "too much to compare anything" in again.problems[-1]
    assert again.remarks == []
