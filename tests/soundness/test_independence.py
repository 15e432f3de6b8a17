"""Draws must be independent: models whose rows see each other are refused, streams of noise are unrelated."""

import captum.attr
import pytest
import torch
from torch import nn

import attribound as ab
from attribound.errors import ArgumentError, FieldError
from attribound.estimation import chunk_generator
from tests.problems import Linear


class BatchStatistics(nn.Module):
    """The sign of the gradient depends on the mean of the batch: with it, false certificates came out half the time."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(4, affine=False, track_running_stats=False)

    def forward(self, y):
        mean = (y - self.norm(y)).mean(dim=1)
        return torch.stack([torch.tanh(1e4 * mean).detach() * y.sum(dim=1), y[:, 0]], dim=1)


class Centred(nn.Module):
    def forward(self, y):
        y = y - y.mean(dim=0, keepdim=True)
        return torch.stack([y.sum(dim=1), y[:, 0]], dim=1)


class Coin(nn.Module):
    """One coin per call, shared by all rows."""

    def forward(self, y):
        sign = 1.0 if torch.rand(()) < 0.5 else -1.0
        return torch.stack([sign * y.sum(dim=1), y[:, 0]], dim=1)


def certify(model, **options):
    x = torch.full((4,), 0.3)
    return ab.certify(ab.Unit(ab.Saliency(model)), x, 0, noise=ab.Gaussian(1.0), samples=64, **options)


SELF = "expected a model that maps each input by itself and always alike"


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (BatchStatistics().eval(), "module 'norm' normalises over the batch"),
        (lambda y: Centred()(y), SELF),
        (Centred(), SELF),
        (Coin(), SELF),
        (lambda y: nn.functional.dropout(Linear(torch.ones(4))(y), 0.5), SELF),
        (nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)), r"call model.eval\(\)"),
    ],
    ids=["untracked batch norm", "wrapped", "centred", "coin", "functional dropout", "training"],
)
def test_models_whose_rows_see_each_other_are_refused(model, message) -> None:
    torch.manual_seed(0)
    with pytest.raises(FieldError, match=message):
        certify(model)


def test_ordinary_models_pass() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(), nn.Linear(4, 2)).eval()
    assert certify(model).samples == 64


def test_streams_are_unrelated() -> None:
    def first(*key, purpose="certificate") -> float:
        return float(torch.rand((), generator=chunk_generator(*key, torch.device("cpu"), purpose), dtype=torch.float64))

    keys = [(seed, item, chunk) for seed in (0, 1, 2**32) for item in (0, 1, 2**33) for chunk in range(8)]
    values = {first(*key, purpose=purpose) for key in keys for purpose in ("certificate", "attack", "score")}
    assert len(values) == 3 * len(keys)


def test_chunks_of_one_item_never_share_a_stream() -> None:
    """32 bits of seed would collide for some of 100,000 hashed chunks; added chunks cannot."""
    device = torch.device("cpu")
    seeds = {chunk_generator(3, 5, chunk, device).initial_seed() for chunk in range(100_000)}
    assert len(seeds) == 100_000


def test_autocast_does_not_reach_the_second_moments() -> None:
    """bfloat16 products would lose up to 0.4 % of the eigenvalue, which is exactly 1.0038^2 here."""

    def model(y):
        return torch.stack([1.0038 * y[:, 0].abs() + 0 * y[:, 1], y[:, 1]], dim=1)

    field, x = ab.Clip(ab.Saliency(model), 1.01), torch.zeros(2)
    plain = ab.certify(field, x, 0, noise=ab.Gaussian(1.0), samples=4096)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cast = ab.certify(field, x, 0, noise=ab.Gaussian(1.0), samples=4096)
    assert cast.eigenvalue_upper == pytest.approx(plain.eigenvalue_upper, rel=1e-6)


def test_gradients_are_switched_on_where_they_are_needed() -> None:
    with torch.no_grad():
        assert certify(Linear(torch.ones(4))).norm == pytest.approx(1.0)


@pytest.mark.parametrize("target", [torch.tensor(1), torch.tensor([1]), 1, [1]], ids=str)
def test_any_whole_number_is_a_target(target) -> None:
    field = ab.Unit(ab.Saliency(Linear(torch.ones(4))))
    assert ab.certify(field, torch.zeros(4), target, noise=ab.Gaussian(1.0), samples=16).target == 1


@pytest.mark.parametrize("target", [-1, 2, 0.7, [0.7], True, "cat"], ids=str)
def test_other_targets_are_refused(target) -> None:
    field = ab.Unit(ab.Captum(captum.attr.Saliency(Linear(torch.ones(4)))))
    with pytest.raises(ArgumentError, match=r"expected `target` in 0\.\.1, got"):
        ab.certify(field, torch.zeros(4), target, noise=ab.Gaussian(1.0), samples=16)
