"""The search for the smallest noise that certifies what is wanted."""

import numpy as np
import pytest
import torch

import attribound as ab
from attribound.errors import ArgumentError
from tests.problems import Linear, Quadratic

UNIT = ab.Unit(ab.Saliency(Linear(torch.tensor([3.0, 4.0]))))
X = torch.zeros(2)


def test_min_radius_finds_the_smallest_candidate_that_passes(noise_model, sample) -> None:
    sigmas = [0.05, 0.1, 0.2, 0.4, 0.8]
    field, x = ab.Unit(ab.Saliency(noise_model)), sample[0][0]
    found = ab.min_radius(field, x, cosine=0.8, epsilon=0.2, noise="gaussian", radii=sigmas, samples=2048)
    passing = found.radius
    assert passing in sigmas[1:4]
    assert found.certificate.cosine(0.2) >= 0.8
    assert found.certificate.alpha == pytest.approx(1e-3 / 5), "alpha is shared by all candidates, tried or not"
    assert list(found.tried) == sigmas[: sigmas.index(passing) + 1], "from the smallest up, and no further than needed"
    assert max(reached for sigma, reached in found.tried.items() if sigma < passing) < 0.2 <= found.tried[passing]


def test_min_radius_says_when_there_is_none() -> None:
    matrix = torch.tensor([[1.0, 0.0], [0.0, -1.0]], dtype=torch.float64)
    field, x = ab.Unit(ab.Saliency(Quadratic(matrix))), torch.tensor([0.1, 0.0], dtype=torch.float64)
    found = ab.min_radius(field, x, 0, cosine=0.99, epsilon=1.0, samples=300, radii=[0.5, 1.0])
    assert found.radius is None
    assert set(found.tried) == {0.5, 1.0}
    assert "no candidate up to 1 will do" in found.reason


def test_min_radius_checks_its_arguments() -> None:
    with pytest.raises(ArgumentError, match="expected `epsilon` > 0, got 0"):
        ab.min_radius(UNIT, X, 0, cosine=0.8, epsilon=0.0)
    with pytest.raises(ArgumentError, match="expected no `until`"):
        ab.min_radius(UNIT, X, 0, cosine=0.8, epsilon=0.1, until=(0.8, 0.1))
    with pytest.raises(ArgumentError, match="expected at least one candidate in `radii`"):
        ab.min_radius(UNIT, X, 0, cosine=0.8, epsilon=0.1, radii=[])
    with pytest.raises(ArgumentError, match="expected `x` to be a tensor, got list"):
        ab.min_radius(UNIT, [0.0, 0.0], 0, cosine=0.8, epsilon=0.1)
    with pytest.raises(ArgumentError, match="expected one input, got a batch of 3"):
        ab.min_radius(UNIT, torch.zeros(3, 2), 0, cosine=0.8, epsilon=0.1, samples=16)
    with pytest.raises(ArgumentError, match="expected `noise` uniform or gaussian, got 'cube'"):
        ab.min_radius(UNIT, X, 0, cosine=0.8, epsilon=0.1, noise="cube")


def test_numpy_inputs_are_taken() -> None:
    found = ab.min_radius(UNIT, np.zeros(2, np.float32), 0, cosine=0.8, epsilon=0.1, radii=[1.0], samples=512)
    assert found.certificate.dim == 2
