"""The streaming pass: closed-form maps, determinism, stopping, flat memory."""

import math

import pytest
import torch
from torch import nn

from attribound.bounds import Closeness, Length, Spread
from attribound.fields import Assumed, Clip, Grouped, IntegratedGradients, Proved, Saliency, Unit
from attribound.noise import Gaussian, UniformBall
from tests.problems import AbsFirst, Linear, Quadratic
from tests.sampling.running import asking, default_statistics, run, watched

WEIGHTS = torch.tensor([3.0, -4.0, 0.0, 12.0], dtype=torch.float64)
NOISES = [UniformBall(1.0), Gaussian(0.5)]
PLACE = torch.tensor([0.2, 0.1], dtype=torch.float64)


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_linear_model_is_its_own_smoothing(noise) -> None:
    statistics, _, spread = watched()
    field = Proved(Saliency(Linear(WEIGHTS)), 13.0, reason="||w|| = 13")
    result = run(field, torch.zeros(4).double(), noise, statistics=statistics)
    assert torch.allclose(result.map, WEIGHTS)
    assert result.evidence.fact(Length).sampled == pytest.approx(13.0)
    # A constant field: the bound is limited by the range only, 2 M log(2 / alpha) / N with a boldest bet of 0.95.
    assert 12.8 < result.evidence.norm_lower <= 13.0
    assert spread._scatter.eigenvalue == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_quadratic_model(noise) -> None:
    half = torch.tensor([[0.5, 0.1], [0.1, -0.3]], dtype=torch.float64)
    x = torch.tensor([1.0, 2.0], dtype=torch.float64)
    field = Clip(Saliency(Quadratic(half)), 50.0)  # far above anything drawn, so nothing is clipped
    statistics, _, spread = watched()
    result = run(field, x, noise, samples=8192, statistics=statistics)
    sigma = noise.law(2).sigma
    # Every coordinate of A z has standard deviation below 0.55 sigma; five standard errors: 6e-7 false alarms.
    assert torch.allclose(result.map, half @ x, atol=5 * 0.55 * sigma / 8192**0.5)
    assert result.evidence.norm_lower <= float((half @ x).norm())
    covariance = sigma**2 * float(torch.linalg.eigvalsh(half @ half)[-1])
    assert spread._scatter.eigenvalue == pytest.approx(covariance, rel=0.15)
    assert result.evidence.fact(Spread).eigenvalue > covariance


@pytest.mark.parametrize("first", [-0.3, 0.0, 0.7])
def test_absolute_value_under_gaussian_noise(first: float) -> None:
    x = torch.tensor([first, 1.0, -1.0], dtype=torch.float64)
    result = run(Unit(Saliency(AbsFirst())), x, Gaussian(0.5), samples=8192)
    exact = AbsFirst.smoothed_gaussian(first, 0.5)
    assert float(result.map[0]) == pytest.approx(exact, abs=5 / 8192**0.5)
    assert result.evidence.norm_lower <= abs(exact)


@pytest.mark.slow
def test_paths_of_integrated_gradients_smooth_to_the_same_map(noise_model, sample) -> None:
    x, noise = sample[0][0], UniformBall.from_sigma(0.25, 784)
    results = {}
    for path, samples in (("quadrature", 512), ("random", 8192)):
        field = IntegratedGradients(noise_model, steps=16, path=path)
        results[path] = run(Assumed(field, 1000.0), x, noise, samples=samples)
    close = nn.functional.cosine_similarity(*(one.map.flatten() for one in results.values()), dim=0)
    assert float(close) > 0.995
    norms = {path: one.evidence.fact(Length).sampled for path, one in results.items()}
    assert norms["random"] == pytest.approx(norms["quadrature"], rel=0.03)
    # Under Unit, which acts on every row, the two paths are different maps.
    unit = {
        path: float(run(Unit(IntegratedGradients(noise_model, steps=16, path=path)), x, noise, samples=512).map.norm())
        for path in results
    }
    assert unit["quadrature"] != pytest.approx(unit["random"], rel=0.05)


def test_random_path_counts_blocks_and_scales_the_covariance() -> None:
    """f = y_1^2 / 2 + y_2: the integrand's covariance is known, a block of `steps` has 1 / steps of it."""
    matrix = torch.zeros(3, 3, dtype=torch.float64)
    matrix[0, 0] = 1.0
    field = Clip(IntegratedGradients(Quadratic(matrix), steps=4, path="random"), 100.0)
    x = torch.tensor([2.0, 0.0, 0.0], dtype=torch.float64)
    statistics, _, spread = watched()
    result = run(field, x, Gaussian(0.1), samples=8192, statistics=statistics)
    assert (result.samples, result.draws) == (8192, 2048)
    # The field itself is z_1^2 / 2 with variance (2 sigma)^2 + sigma^4 / 2; the certificate must not use less.
    variance = (2 * 0.1) ** 2 + 0.1**4 / 2
    assert result.evidence.fact(Spread).eigenvalue >= variance
    assert spread._scatter.eigenvalue * field.block >= variance


def test_a_map_with_its_own_shape() -> None:
    """Two groups of four features: the map has two numbers, the noise four; sums of a linear map are exact."""
    field = Proved(Grouped(Saliency(Linear(WEIGHTS)), [0, 1, 1, 0]), 20.0, reason="|3| + |12| and |4|")
    result = run(field, torch.zeros(4).double(), Gaussian(0.5), shape=(2,))
    assert result.map.tolist() == pytest.approx([15.0, -4.0])
    assert result.evidence.law.dim == 4


@pytest.mark.parametrize("batch", [1, 7, 64, 1000])
def test_batches_do_not_change_the_draws(batch: int) -> None:
    field = Unit(Saliency(AbsFirst()))
    one, two = (run(field, PLACE, Gaussian(0.5), samples=300, batch=rows) for rows in (None, batch))
    assert torch.equal(one.map, two.map)
    assert one.evidence == two.evidence


@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_half_float_and_double_inputs(noise, dtype) -> None:
    model = Linear(WEIGHTS.to(dtype))
    result = run(Unit(Saliency(model)), torch.zeros(4, dtype=dtype), noise, samples=64)
    assert result.map.dtype == torch.float64
    assert torch.allclose(result.map, WEIGHTS / 13, atol=1e-2)


def test_proved_early(noise_model, sample) -> None:
    field = Unit(Saliency(noise_model))
    result = run(field, sample[0][0], Gaussian(0.5), samples=8192, until=asking(cosine=0.8, epsilon=0.3))
    assert result.stopped == "proved"
    assert result.samples < 4096
    assert result.evidence.cosine(0.3) >= 0.8


def test_futile_early(noise_model, sample) -> None:
    field = Unit(Saliency(noise_model))
    result = run(field, sample[0][0], Gaussian(0.5), samples=8192, until=asking(cosine=0.8, epsilon=1.5))
    assert result.stopped == "futile"
    assert result.samples < 4096
    assert result.evidence.cosine(1.5) < 0.8


def test_looks_share_alpha() -> None:
    """The eigenvalue bound holds at a fixed N, so stopping early must cost: never better than one look at that N."""
    field, x = Unit(Saliency(AbsFirst())), torch.tensor([0.4, 0.1], dtype=torch.float64)
    looked = run(field, x, Gaussian(0.5), samples=4096, until=asking(cosine=0.9, epsilon=0.01))
    assert looked.stopped == "proved"
    plain = run(field, x, Gaussian(0.5), samples=4096)
    assert looked.evidence.fact(Spread).eigenvalue > plain.evidence.fact(Spread).eigenvalue
    assert looked.evidence.fact(Closeness).attacked_alpha < plain.evidence.fact(Closeness).attacked_alpha


def test_a_question_that_is_never_decided_pays_for_its_looks() -> None:
    """All draws are taken, but the looks on the way have spent most of alpha."""
    field, x = Unit(Saliency(AbsFirst())), torch.tensor([0.4, 0.1], dtype=torch.float64)
    plain = run(field, x, Gaussian(0.5), samples=1024)
    reached = float(plain.evidence.cosine(0.05))
    asked = run(field, x, Gaussian(0.5), samples=1024, until=asking(cosine=reached, epsilon=0.05))
    assert (asked.stopped, asked.samples) == ("budget", 1024)
    assert asked.evidence.norm_lower == plain.evidence.norm_lower, "the norm holds at every number of draws at once"
    assert asked.evidence.fact(Spread).eigenvalue > plain.evidence.fact(Spread).eigenvalue


def test_shares_of_alpha_are_not_more_than_all() -> None:
    shares = [one.share for one in default_statistics()]
    assert all(0 < share <= 1 for share in shares)
    assert math.fsum(shares) <= 1.0 + 1e-12


def test_progress_is_reported() -> None:
    seen: list[tuple[int, int]] = []
    run(
        Unit(Saliency(AbsFirst())),
        torch.zeros(2),
        Gaussian(0.5),
        samples=1000,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen[-1] == (1000, 1000)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


@pytest.mark.parametrize("samples", [1, 2, 3, 9])
def test_very_few_samples_prove_nothing_but_work(samples: int) -> None:
    result = run(Unit(Saliency(AbsFirst())), torch.ones(2), Gaussian(0.5), samples=samples)
    assert result.evidence.max_epsilon(0.8) == 0.0


def test_stated_facts_are_part_of_the_evidence() -> None:
    base = Saliency(Linear(WEIGHTS), output="probability", continuous=True)
    stated = run(Proved(base, 4.0, reason="a sigmoid's slope is <= 1/4"), torch.zeros(4).double(), Gaussian(0.5))
    assert "curvature" in stated.evidence.cosines(0.1)
    plain = run(Unit(base), torch.zeros(4).double(), Gaussian(0.5))
    assert "curvature" not in plain.evidence.cosines(0.1)
