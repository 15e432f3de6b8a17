"""The streaming pass: closed-form maps, determinism, stopping, errors, flat memory."""

import math

import pytest
import torch
from torch import nn

import attribound as ab
from attribound.errors import LimitError, NonFiniteError
from attribound.estimation import SHARES, Plan, Question, estimate
from tests.problems import AbsFirst, Linear, Quadratic

WEIGHTS = torch.tensor([3.0, -4.0, 0.0, 12.0], dtype=torch.float64)
NOISES = [ab.UniformBall(1.0), ab.Gaussian(0.5)]


def run(field, x, noise, samples=2048, **plan):
    return estimate(field, x, 0, noise, Plan(samples=samples, alpha=1e-3, **plan))


@pytest.mark.parametrize("noise", NOISES, ids=lambda n: n.kind)
def test_linear_model_is_its_own_smoothing(noise) -> None:
    result = run(ab.Proved(ab.Saliency(Linear(WEIGHTS)), 13.0, reason="||w|| = 13"), torch.zeros(4).double(), noise)
    assert torch.allclose(result.attribution, WEIGHTS)
    assert result.norm == pytest.approx(13.0)
    # A constant field: the bound is limited by the range only, 2 M log(2 / alpha) / N with a boldest bet of 0.95.
    assert 12.8 < result.evidence.norm_lower <= 13.0
    assert result.eigenvalue == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("noise", NOISES, ids=lambda n: n.kind)
def test_quadratic_model(noise) -> None:
    half = torch.tensor([[0.5, 0.1], [0.1, -0.3]], dtype=torch.float64)
    x = torch.tensor([1.0, 2.0], dtype=torch.float64)
    field = ab.Clip(ab.Saliency(Quadratic(half)), 50.0)  # far above anything drawn, so nothing is clipped
    result = run(field, x, noise, samples=8192)
    spread = noise.sigma_per_feature(2)
    # Every coordinate of A z has standard deviation below 0.55 sigma; five standard errors: 6e-7 false alarms.
    assert torch.allclose(result.attribution, half @ x, atol=5 * 0.55 * spread / 8192**0.5)
    assert result.evidence.norm_lower <= float((half @ x).norm())
    covariance = spread**2 * float(torch.linalg.eigvalsh(half @ half)[-1])
    assert result.eigenvalue == pytest.approx(covariance, rel=0.15)
    assert result.evidence.eigenvalue_upper > covariance


@pytest.mark.parametrize("first", [-0.3, 0.0, 0.7])
def test_absolute_value_under_gaussian_noise(first: float) -> None:
    x = torch.tensor([first, 1.0, -1.0], dtype=torch.float64)
    result = run(ab.Unit(ab.Saliency(AbsFirst())), x, ab.Gaussian(0.5), samples=8192)
    exact = AbsFirst.smoothed_gaussian(first, 0.5)
    assert float(result.attribution[0]) == pytest.approx(exact, abs=5 / 8192**0.5)
    assert result.evidence.norm_lower <= abs(exact)


def test_paths_of_integrated_gradients_smooth_to_the_same_map(noise_model, sample) -> None:
    x, noise = sample[0][0], ab.UniformBall.from_sigma(0.25, 784)
    maps = {}
    for path, samples in (("quadrature", 512), ("random", 8192)):
        field = ab.IntegratedGradients(noise_model, steps=16, path=path)
        maps[path] = run(ab.Assumed(field, 1000.0), x, noise, samples=samples)
    close = nn.functional.cosine_similarity(*(m.attribution.flatten() for m in maps.values()), dim=0)
    assert float(close) > 0.995
    assert maps["random"].norm == pytest.approx(maps["quadrature"].norm, rel=0.03)
    # Under Unit, which acts on every row, the two paths are different maps.
    unit = {
        path: run(ab.Unit(ab.IntegratedGradients(noise_model, steps=16, path=path)), x, noise, samples=512).norm
        for path in maps
    }
    assert unit["quadrature"] != pytest.approx(unit["random"], rel=0.05)


def test_random_path_counts_blocks_and_scales_the_covariance() -> None:
    """f = y_1^2 / 2 + y_2: the integrand's covariance is known, a block of `steps` has 1 / steps of it."""
    matrix = torch.zeros(3, 3, dtype=torch.float64)
    matrix[0, 0] = 1.0
    field = ab.Clip(ab.IntegratedGradients(Quadratic(matrix), steps=4, path="random"), 100.0)
    x = torch.tensor([2.0, 0.0, 0.0], dtype=torch.float64)
    result = run(field, x, ab.Gaussian(0.1), samples=8192)
    assert (result.samples, result.draws) == (8192, 2048)
    # The field itself is z_1^2 / 2 with variance (2 sigma)^2 + sigma^4 / 2; the certificate must not use less.
    variance = (2 * 0.1) ** 2 + 0.1**4 / 2
    assert result.evidence.eigenvalue_upper >= variance
    assert result.eigenvalue * field.block >= variance


@pytest.mark.parametrize("batch", [1, 7, 64, 1000])
def test_batches_do_not_change_the_draws(batch: int) -> None:
    field, x = ab.Unit(ab.Saliency(AbsFirst())), torch.tensor([0.2, 0.1], dtype=torch.float64)
    one = run(field, x, ab.Gaussian(0.5), samples=300)
    two = run(field, x, ab.Gaussian(0.5), samples=300, batch=batch)
    assert torch.equal(one.attribution, two.attribution)
    assert one.evidence == two.evidence


def test_draws_depend_on_seed_and_item() -> None:
    field, x = ab.Unit(ab.Saliency(AbsFirst())), torch.tensor([0.2, 0.1], dtype=torch.float64)
    maps = {
        (seed, item): float(run(field, x, ab.Gaussian(0.5), samples=300, seed=seed, item=item).attribution[0])
        for seed in (0, 1)
        for item in (0, 1)
    }
    assert len(set(maps.values())) == 4


@pytest.mark.parametrize("noise", NOISES, ids=lambda n: n.kind)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_half_float_and_double_inputs(noise, dtype) -> None:
    model = Linear(WEIGHTS.to(dtype))
    result = run(ab.Unit(ab.Saliency(model)), torch.zeros(4, dtype=dtype), noise, samples=64)
    assert result.attribution.dtype == torch.float64
    assert torch.allclose(result.attribution, WEIGHTS / 13, atol=1e-2)


def test_proved_early(noise_model, sample) -> None:
    field = ab.Unit(ab.Saliency(noise_model))
    result = run(field, sample[0][0], ab.Gaussian(0.5), samples=8192, until=Question(cosine=0.8, epsilon=0.3))
    assert result.stopped == "proved"
    assert result.samples < 4096
    assert result.evidence.best(0.3)[0] >= 0.8


def test_futile_early(noise_model, sample) -> None:
    field = ab.Unit(ab.Saliency(noise_model))
    result = run(field, sample[0][0], ab.Gaussian(0.5), samples=8192, until=Question(cosine=0.8, epsilon=1.5))
    assert result.stopped == "futile"
    assert result.samples < 4096
    assert result.evidence.best(1.5)[0] < 0.8


def test_looks_share_alpha() -> None:
    """The eigenvalue bound holds at a fixed N, so stopping early must cost: never better than one look at that N."""
    field, x = ab.Unit(ab.Saliency(AbsFirst())), torch.tensor([0.4, 0.1], dtype=torch.float64)
    looked = run(field, x, ab.Gaussian(0.5), samples=4096, until=Question(cosine=0.9, epsilon=0.01))
    assert looked.stopped == "proved"
    plain = estimate(field, x, 0, ab.Gaussian(0.5), Plan(samples=4096, alpha=1e-3))
    assert looked.evidence.eigenvalue_upper > plain.evidence.eigenvalue_upper


def test_shares_make_up_alpha() -> None:
    assert math.fsum(SHARES.values()) == 1.0


class Poisoned(nn.Module):
    """The gradient is `value` where the first feature is above a threshold, 1 elsewhere."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value

    def forward(self, y):
        factor = torch.where(y[:, 0] > 1.0, self.value, 1.0)
        score = y[:, 1] * factor.detach()
        return torch.stack([score, score * 0], dim=1)


@pytest.mark.parametrize("wrap", [ab.Unit, lambda f: ab.Clip(f, 2.0)], ids=["unit", "clip"])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_non_finite_draws_are_named(wrap, value) -> None:
    with pytest.raises(NonFiniteError, match=r"the attribution of draw \d+ is NaN or infinite"):
        run(wrap(ab.Saliency(Poisoned(value))), torch.zeros(2), ab.Gaussian(0.5))


def test_the_named_draw_is_the_first_bad_one() -> None:
    from attribound.estimation import chunk_generator

    x, noise = torch.zeros(2), ab.Gaussian(0.5)
    draws = noise.draw(256, x, chunk_generator(0, 0, 0, x.device))
    first = int((draws[:, 0] > 1.0).nonzero()[0, 0])
    with pytest.raises(NonFiniteError, match=f"of draw {first} is"):
        run(ab.Unit(ab.Saliency(Poisoned(float("nan")))), x, noise)


def test_zero_gradients_count_as_zero() -> None:
    result = run(ab.Unit(ab.Saliency(Poisoned(0.0))), torch.zeros(2), ab.Gaussian(0.5), samples=8192)
    kept = 1 - 0.5 * math.erfc(2 / math.sqrt(2))
    assert result.norm == pytest.approx(kept, abs=5 * 0.15 / 8192**0.5)


@pytest.mark.parametrize("wrap", [lambda f: ab.Assumed(f, 5.0), lambda f: ab.Proved(f, 5.0, reason="wrong")])
def test_draws_beyond_a_claimed_limit_are_errors(wrap) -> None:
    with pytest.raises(LimitError, match="has norm 13, above the claimed limit 5"):
        run(wrap(ab.Saliency(Linear(WEIGHTS))), torch.zeros(4).double(), ab.Gaussian(0.5))


def test_progress_is_reported() -> None:
    seen: list[tuple[int, int]] = []
    field = ab.Unit(ab.Saliency(AbsFirst()))
    plan = Plan(samples=1000, alpha=1e-3)
    estimate(field, torch.zeros(2), 0, ab.Gaussian(0.5), plan, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (1000, 1000)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


@pytest.mark.parametrize("samples", [1, 2, 3, 9])
def test_very_few_samples_prove_nothing_but_work(samples: int) -> None:
    result = run(ab.Unit(ab.Saliency(AbsFirst())), torch.ones(2), ab.Gaussian(0.5), samples=samples)
    assert result.evidence.max_epsilon(0.8) == 0.0
