"""Center smoothing: its formula, its abstention, and that its own guarantee survives attacks and chance."""

import math

import numpy as np
import pytest
import torch

import attribound as ab
from attribound.baselines import center_smoothing
from attribound.baselines.center_smoothing import _bound, _directions, _medoid
from attribound.errors import ArgumentError
from attribound.fields.families import Around
from attribound.noise import Gaussian
from attribound.sampling.witness import Witness
from tests.problems import Linear

WEIGHTS = torch.tensor([3.0, 4.0, 0.0])


def test_a_constant_map_is_certified_completely() -> None:
    field = ab.Saliency(Linear(WEIGHTS))
    for one in center_smoothing(field, torch.zeros(3), 0, sigma=1.0, epsilons=(0.1, 0.5), samples=500):
        assert one.radius == pytest.approx(0.0, abs=1e-6)
        assert one.cosine == pytest.approx(1.0, abs=1e-9)


def test_the_bound_by_hand() -> None:
    """1,000 distances 0.001 .. 1: at epsilon 0.5, sigma 1, n = m = 1000, alpha = 0.003 by pocket calculator.

    Delta = band = sqrt(ln 1000 / 2000) = 0.05877; Phi^-1(0.55877) = 0.14783; Phi(0.64783) = 0.74145; level 0.80022, so
    R is the 801st distance, 0.801; three times that is the angle, ten times that (capped at 2) is 1 - cos.
    """
    distances = np.arange(1, 1001) / 1000
    delta = math.sqrt(math.log(1000) / 2000)
    angle = _bound(0.5, 1.0, distances, delta, delta, "angle")
    assert angle.radius == pytest.approx(0.801)
    assert angle.distance == pytest.approx(2.403)
    assert angle.cosine == pytest.approx(math.cos(2.403))
    cosine = _bound(0.5, 1.0, distances / 10, delta, delta, "cosine")
    assert cosine.distance == pytest.approx(0.801)
    assert cosine.cosine == pytest.approx(0.199)


def test_it_abstains_when_too_few_draws_or_too_large_a_change() -> None:
    distances = np.linspace(0, 1, 100)
    assert _bound(5.0, 1.0, distances, 0.05, 0.05, "angle").distance is None
    assert _bound(0.1, 1.0, distances, 0.6, 0.05, "angle").cosine == -1.0


def test_medoid_is_the_centre_of_the_crowd() -> None:
    crowd = torch.nn.functional.normalize(torch.tensor([[1.0, 0.0], [1.0, 0.05], [1.0, -0.05], [-1.0, 0.0]]), dim=1)
    assert _medoid(crowd.double()) == 0


def test_unknown_distance() -> None:
    with pytest.raises(ArgumentError, match="expected `distance` angle or cosine"):
        center_smoothing(ab.Saliency(Linear(WEIGHTS)), torch.zeros(3), 0, sigma=1.0, epsilons=(0.1,), distance="chord")


@pytest.mark.parametrize("distance", [pytest.param("angle", marks=pytest.mark.slow), "cosine"])
def test_centres_at_attacked_points_stay_within_the_bound(distance, noise_model, sample) -> None:
    """Along the direct attack's change and random ones; a false alarm has probability below 8 alpha = 0.008."""
    field, x, epsilon = ab.Saliency(noise_model), sample[0][0], 0.1
    one = center_smoothing(
        field, x, 7, sigma=0.5, epsilons=(epsilon,), distance=distance, samples=400, certify_samples=1500
    )[0]
    centre = _centre(field, x, 0)
    options = {"noise": Gaussian(0.5), "method": "direct", "steps": 5, "samples": 32, "rescore_samples": 512}
    worst = ab.attack(field, x, 7, epsilon=epsilon, **options).delta
    generator = torch.Generator().manual_seed(0)
    others = [torch.randn(x.shape, generator=generator) for _ in range(3)]
    for number, delta in enumerate([worst, *(d * (epsilon / d.norm()) for d in others)]):
        cosine = float(centre @ _centre(field, x + delta, number + 10))
        assert cosine >= one.cosine


def _centre(field, x, seed) -> torch.Tensor:
    draws = _directions(Around(field, 7, x), Gaussian(0.5), 400, seed, 0, Witness(seed))
    return draws[_medoid(draws)]
