"""The samplers: laws, shapes, precision, reproducibility."""

import math

import pytest
import torch
from scipy import stats

from attribound.bounds import moved_fraction
from attribound.errors import ArgumentError
from attribound.noise import Gaussian, UniformBall, make_noise

# Kolmogorov-Smirnov tests below fail by chance with probability 1e-4 each (seeded, so they do not).
RARE = 1e-4


@pytest.mark.parametrize(
    ("dim", "dtype"), [(2, torch.float32), (784, torch.float32), (150528, torch.float32), (784, torch.float64)]
)
def test_ball_lengths_to_the_power_d_are_uniform(dim, dtype, generator) -> None:
    count = 200 if dim > 10_000 else 4000
    draws = UniformBall(3.5).draw(count, torch.zeros(dim, dtype=dtype), generator)
    lengths = (draws.double().norm(dim=1) / 3.5).numpy() ** dim
    assert lengths.max() <= 1 + 1e-6 * dim
    assert stats.kstest(lengths, "uniform").pvalue > RARE


@pytest.mark.parametrize("noise", [UniformBall(2.0), Gaussian(0.7)], ids=lambda n: n.kind)
def test_directions_are_isotropic(noise, generator) -> None:
    draws = noise.draw(4000, torch.zeros(3), generator).double()
    cosines = draws[:, 0] / draws.norm(dim=1)
    # In three dimensions each coordinate of a uniform direction is uniform on [-1, 1] (Archimedes).
    assert stats.kstest(cosines.numpy(), stats.uniform(-1, 2).cdf).pvalue > RARE


def test_gaussian_is_normal(generator) -> None:
    draws = Gaussian(0.7).draw(500, torch.zeros(40), generator).double().flatten() / 0.7
    assert stats.kstest(draws.numpy(), "norm").pvalue > RARE


@pytest.mark.parametrize("dim", [2, 50])
def test_same_energy_in_both_laws(dim, generator) -> None:
    ball = UniformBall.from_sigma(0.25, dim)
    assert ball.sigma_per_feature(dim) == pytest.approx(0.25)
    assert Gaussian(0.25).radius_of(dim) == pytest.approx(ball.radius)
    spread = ball.draw(40_000, torch.zeros(dim), generator).double().square().mean().sqrt()
    # Relative standard error of the spread is below 1/sqrt(2 * 40000) = 0.0035 per feature; 0.02 is over five of them.
    assert float(spread) == pytest.approx(0.25, rel=0.02)


@pytest.mark.parametrize("dim", [2, 20, 784])
def test_moved_fraction_of_the_ball_by_monte_carlo(dim, generator) -> None:
    """p is the mass of the ball that lies outside the shifted ball."""
    epsilon = 1.2 / math.sqrt(dim)
    draws = UniformBall(1.0).draw(20_000, torch.zeros(dim, dtype=torch.float64), generator)
    draws[:, 0] -= epsilon
    outside = float((draws.norm(dim=1) > 1).double().mean())
    # Standard error <= 0.5 / sqrt(20000) = 0.0035; five of them.
    assert outside == pytest.approx(moved_fraction(epsilon, dim=dim, radius=1.0), abs=0.018)


def test_moved_fraction_of_the_gaussian_by_monte_carlo(generator) -> None:
    epsilon, sigma = 0.6, 0.5
    first = Gaussian(sigma).draw(20_000, torch.zeros(1, dtype=torch.float64), generator)[:, 0]
    ratio = torch.exp(epsilon * first / sigma**2 - epsilon**2 / (2 * sigma**2))
    moved = float((1 - ratio).clamp(min=0).mean())
    assert moved == pytest.approx(moved_fraction(epsilon, sigma=sigma), abs=0.018)


@pytest.mark.parametrize("noise", [UniformBall(1.0), Gaussian(1.0)], ids=lambda n: n.kind)
@pytest.mark.parametrize("shape", [(5,), (2, 3), (3, 4, 5)])
@pytest.mark.parametrize(
    ("dtype", "drawn"),
    [
        (torch.float16, torch.float32),
        (torch.bfloat16, torch.float32),
        (torch.float32, torch.float32),
        (torch.float64, torch.float64),
    ],
)
def test_shapes_and_precisions(noise, shape, dtype, drawn) -> None:
    like = torch.zeros(shape, dtype=dtype)
    one, two = (noise.draw(7, like, torch.Generator().manual_seed(5)) for _ in range(2))
    assert one.shape == (7, *shape)
    assert one.dtype == drawn
    assert torch.equal(one, two)


def test_global_generator_is_not_touched(generator) -> None:
    before = torch.random.get_rng_state()
    UniformBall(1.0).draw(3, torch.zeros(4), generator)
    assert torch.equal(before, torch.random.get_rng_state())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: UniformBall(0.0), "expected `radius` > 0, got 0"),
        (lambda: UniformBall(float("nan")), "expected `radius` to be a number, got nan"),
        (lambda: Gaussian(-1.0), "expected `sigma` > 0, got -1"),
        (lambda: UniformBall.from_sigma(0.5, 1), "expected `dim` to be a whole number >= 2, got 1"),
        (lambda: make_noise("laplace", 1.0), "expected noise 'uniform' or 'gaussian', got 'laplace'"),
    ],
)
def test_bad_arguments(make, message) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()
