"""The samplers: laws, shapes, precision, reproducibility."""

import math

import pytest
import torch
from scipy import stats

from attribound.bounds import LAWS, Ball, Normal, moved_fraction
from attribound.errors import ArgumentError
from attribound.fields.families import noisy
from attribound.noise import Gaussian, NoiseOf, UniformBall, parse_noise

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


@pytest.mark.parametrize("noise", [UniformBall(2.0), Gaussian(0.7)], ids=str)
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
    assert ball.law(dim).sigma == pytest.approx(0.25)
    assert Gaussian(0.25).law(dim).radius == pytest.approx(ball.radius)
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
    first = Gaussian(sigma).draw(20_000, torch.zeros(2, dtype=torch.float64), generator)[:, 0]
    ratio = torch.exp(epsilon * first / sigma**2 - epsilon**2 / (2 * sigma**2))
    moved = float((1 - ratio).clamp(min=0).mean())
    assert moved == pytest.approx(moved_fraction(epsilon, sigma=sigma), abs=0.018)


@pytest.mark.parametrize("noise", [UniformBall(1.0), Gaussian(1.0), NoiseOf(Normal, 2.0)], ids=str)
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
        (lambda: parse_noise("laplace:1"), "expected a noise, uniform:RADIUS or gaussian:SIGMA .*, got 'laplace:1'"),
        (lambda: parse_noise("gaussian:-1"), "expected a noise, .*, got 'gaussian:-1'"),
        (lambda: Gaussian([0.1, 0.2]), "expected one `sigma`; units per feature are Gaussian"),
        (lambda: Gaussian(1.0, scale=[1.0, -1.0]), "expected `scale` >= 0, got -1"),
        (lambda: Gaussian(1.0, scale=[0.0, 0.0]).law(2), "expected at least one `scale` above 0"),
        (lambda: Gaussian(1.0, scale=[1.0, 2.0]).law(3), r"expected one unit per feature \(3\), got 2"),
    ],
)
def test_bad_arguments(make, message) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_copies_and_noise_onto_a_batch(dtype) -> None:
    """One input many times, or every row of a batch: the noise of `draw`, added in float32 at least."""
    x = torch.rand(3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).to(dtype)
    noise = Gaussian(0.5)
    drawn = noise.draw(5, x, torch.Generator().manual_seed(2))
    copies = noisy(x, noise, 5, torch.Generator().manual_seed(2))
    assert copies.dtype == dtype
    assert torch.equal(copies, (x.to(drawn.dtype) + drawn).to(dtype))
    batch = x.expand(5, 3, 4)
    assert torch.equal(noise.onto(batch, torch.Generator().manual_seed(2)), copies)


def test_copies_are_differentiable_in_the_input() -> None:
    x = torch.zeros(4, requires_grad=True)
    copies = noisy(x, UniformBall(1.0), 3, torch.Generator().manual_seed(0))
    (slope,) = torch.autograd.grad(copies.sum(), x)
    assert slope.tolist() == [3.0] * 4


def test_units_stretch_each_feature(generator) -> None:
    """Feature i deviates by sigma * scale[i]; 4000 draws, each deviation known to 1.1 %, five of them."""
    units = [0.5, 1.0, 4.0, 100.0]
    draws = Gaussian(0.3, scale=units).draw(4000, torch.zeros(2, 2), generator).double()
    spread = draws.square().mean(dim=0).sqrt().flatten() / torch.tensor(units)
    assert spread.tolist() == pytest.approx([0.3] * 4, rel=0.06)
    plain = Gaussian(0.3).draw(10, torch.zeros(4), torch.Generator().manual_seed(0))
    scaled = Gaussian(0.3, scale=units).draw(10, torch.zeros(4), torch.Generator().manual_seed(0))
    assert torch.allclose(scaled, plain * torch.tensor(units))


@pytest.mark.parametrize("units", [None, (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)], ids=["plain", "units"])
@pytest.mark.parametrize("law", [Ball(6, 2.5), Normal(6, 0.125)], ids=str)
def test_the_noise_of_a_law_and_the_law_of_a_noise(law, units) -> None:
    noise = parse_noise(law.spec, units)
    assert noise.law(6) == law
    assert noise.budget.units == units


@pytest.mark.parametrize("spec", ["uniform:2.5", "gaussian:0.5"])
def test_a_feature_with_unit_0_does_not_move_and_does_not_count(spec) -> None:
    """The other features get the noise of the smaller dimension; 4,000 draws, five standard errors."""
    noise = parse_noise(spec, (1.0, 0.0, 3.0, 0.0))
    law = noise.law(4)
    assert law.dim == 2
    draws = noise.draw(4000, torch.zeros(4, dtype=torch.float64), torch.Generator().manual_seed(0))
    assert not draws[:, [1, 3]].any()
    deviations = draws[:, [0, 2]].std(dim=0)
    assert deviations.tolist() == pytest.approx([law.sigma, 3 * law.sigma], rel=0.06)
    if law.radial:
        assert float((draws[:, [0, 2]] / torch.tensor([1.0, 3.0])).norm(dim=1).max()) <= law.radius


def test_every_law_can_be_drawn_as_people_type_it(generator) -> None:
    """The plain classes and the specs give the same numbers."""
    for kind, noise in (("uniform", UniformBall(1.5)), ("gaussian", Gaussian(1.5))):
        one, two = (
            which.draw(6, torch.zeros(3), torch.Generator().manual_seed(4))
            for which in (noise, parse_noise(f"{kind}:1.5"))
        )
        assert torch.equal(one, two)
        assert LAWS[kind] is type(noise.law(3))


@pytest.mark.parametrize("kind", LAWS)
def test_the_energy_of_every_law_is_its_sigma(kind, generator) -> None:
    """Any registered law: its draws have the standard deviation that it says; 20,000 draws of 50 features."""
    law = LAWS[kind](50, LAWS[kind].value_of(0.25, 50))
    assert law.sigma == pytest.approx(0.25)
    spread = float(
        NoiseOf(type(law), law.value).draw(20_000, torch.zeros(50), generator).double().square().mean().sqrt()
    )
    assert spread == pytest.approx(0.25, rel=0.02)
