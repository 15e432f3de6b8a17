"""Coverage and tightness. Simulations are seeded; each says how often a correct code would fail with other seeds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from attribound.bounds import eigenvalue_upper_bound, mean_radius, norm_lower_bound, spend
from attribound.bounds.confidence import _bets
from tests.reference import betting

relaxed = settings(deadline=None, database=None, derandomize=True, max_examples=40)


def signs(rng, mean, size):
    """+-1 with this mean: the widest law on [-1, 1]."""
    return np.where(rng.random(size) < (1 + mean) / 2, 1.0, -1.0)


DRAWS = {
    "signs 0.1": (0.1, lambda rng, n: signs(rng, 0.1, n)),
    "signs 0.9": (0.9, lambda rng, n: signs(rng, 0.9, n)),
    "signs 0.99": (0.99, lambda rng, n: signs(rng, 0.99, n)),
    "narrow beta": (0.8, lambda rng, n: 2 * rng.beta(180, 20, n) - 1),
}


# --- norm_lower_bound


@pytest.mark.parametrize("alpha", [0.3, 0.05, 1e-6])
@pytest.mark.parametrize("name", DRAWS)
def test_the_bets_of_one_gambler(name, alpha):
    x = 2.5 * DRAWS[name][1](np.random.default_rng(0), 120)
    for horizon in (120, 1000):
        assert norm_lower_bound(x, limit=2.5, alpha=alpha, horizon=horizon) == pytest.approx(
            betting.norm_lower_bound(x, 2.5, alpha, horizon), abs=1e-11
        )
    assert norm_lower_bound(x, limit=2.5, alpha=alpha) == norm_lower_bound(x, limit=2.5, alpha=alpha, horizon=120)


@pytest.mark.parametrize("name", DRAWS)
def test_coverage_of_the_norm(name):
    # At most 5 % of 2,000 may miss: mean 100, deviation 9.7; 142 is passed by luck at most once in 50,000.
    mean, draw = DRAWS[name]
    rng = np.random.default_rng(1)
    misses = sum(norm_lower_bound(draw(rng, 300), limit=1.0, alpha=0.05) > mean for _ in range(2000))
    assert misses <= 142


def test_the_norm_misses_about_as_often_as_it_may():
    # A bound that never misses wastes draws. These miss 4.6 % of the time (measured, 20,000 runs), so fewer than 40 of
    # 2,000 comes up once in 10^9; with twice the log the rate would be at most alpha^2, 5 of 2,000.
    rng = np.random.default_rng(2)
    misses = sum(norm_lower_bound(signs(rng, 0.9, 300), limit=1.0, alpha=0.05) > 0.9 for _ in range(2000))
    assert misses >= 40


def test_the_norm_is_as_close_as_theory_says():
    # To first order the gap is sqrt(2 var ln(1/alpha) / n). Twice or half the log changes it by 1.5 or 0.75.
    # Measured over 12,000 runs: 0.961 of that, and the mean of 1,000 deviates by 0.017; 5 deviations, 1 in 10^6.
    rng = np.random.default_rng(3)
    gaps = [0.9 - norm_lower_bound(3 * signs(rng, 0.9, 1000), limit=3.0, alpha=0.05) / 3 for _ in range(1000)]
    assert 0.87 < np.mean(gaps) / np.sqrt(2 * (1 - 0.81) * np.log(20) / 1000) < 1.05


def test_narrow_draws_need_few():
    # Draws deviate by 0.042, so sampling alone errs by 0.0013; Hoeffding's bound is 0.077 away. Measured over 4,000
    # runs the gap is 0.0062 +- 0.0014: 4.5 deviations down, 5 up, about 1 in 100,000.
    rng = np.random.default_rng(4)
    gap = 0.8 - norm_lower_bound(DRAWS["narrow beta"][1](rng, 1000), limit=1.0, alpha=0.05)
    assert 0 < gap < 0.013


def test_every_stopping_time_at_once():
    # One alpha pays for all looks. At most 5 % of 400: mean 20; 38 is passed by luck at most once in 14,000.
    rng = np.random.default_rng(5)
    misses = 0
    for _ in range(400):
        x = signs(rng, 0.6, 200)
        looks = [norm_lower_bound(x[:n], limit=1.0, alpha=0.05, horizon=200) for n in range(20, 201, 20)]
        assert np.all(np.diff(looks) >= 0)
        misses += max(looks) > 0.6
    assert misses <= 38


def test_directions_from_earlier_draws_are_allowed():
    # Draws of length 1 in 20 dimensions, mean 0.5 e_1; w_t from draws before t. At most 5 % of 400, as above.
    rng = np.random.default_rng(6)
    misses, bounds = 0, []
    for _ in range(400):
        noise = rng.normal(size=(300, 19))
        noise *= np.sqrt(1 - 0.25) / np.linalg.norm(noise, axis=1, keepdims=True)
        g = np.column_stack([np.full(300, 0.5), noise])
        sums = np.cumsum(g, axis=0) - g
        w = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
        bounds.append(norm_lower_bound(np.einsum("td,td->t", g, w), limit=1.0, alpha=0.05))
        misses += bounds[-1] > 0.5
    assert misses <= 38
    assert np.mean(bounds) > 0.46  # 0.4736 over 1,500 runs, each within 0.001


@relaxed
@given(st.integers(0, 39), st.integers(0, 10**6))
def test_bets_know_only_the_past(cut, seed):
    rng = np.random.default_rng(seed)
    y = rng.random(40)
    other = np.concatenate([y[:cut], rng.random(40 - cut)])
    np.testing.assert_array_equal(_bets(y, 0.05, 40)[: cut + 1], _bets(other, 0.05, 40)[: cut + 1])


@relaxed
@given(st.integers(0, 10**6), st.floats(0.001, 0.5), st.floats(0.001, 0.5))
def test_the_norm_bound_rises_with_alpha_and_scales_with_the_limit(seed, first, second):
    x = np.clip(np.random.default_rng(seed).normal(0.6, 0.3, 200), -1, 1)
    small, large = (norm_lower_bound(x, limit=1.0, alpha=alpha) for alpha in sorted([first, second]))
    assert small <= large + 2e-3  # the bets change with alpha as well
    assert 0 <= large <= 1
    assert norm_lower_bound(7 * x, limit=7.0, alpha=first) == pytest.approx(
        7 * norm_lower_bound(x, limit=1.0, alpha=first), abs=1e-10
    )


def test_the_norm_of_nothing_and_of_everything():
    assert norm_lower_bound([], limit=1.0, alpha=0.01) == 0.0
    assert norm_lower_bound([0.0] * 1000, limit=1.0, alpha=0.01) == 0.0
    assert norm_lower_bound([-1.0] * 1000, limit=1.0, alpha=0.01) == 0.0
    assert norm_lower_bound([1.0], limit=1.0, alpha=0.01) == 0.0
    # A full bet of 0.95 each time: capital (1 + 0.95 (1/m - 1))^n = 1/alpha at the bound.
    bound = norm_lower_bound([1.0] * 5000, limit=1.0, alpha=0.01)
    assert 0.99 < bound < 1.0
    assert type(bound) is float


# --- eigenvalue_upper_bound


def test_eigenvalue_bound_is_chernoffs():
    for seen, samples, alpha in [(0.01, 500, 0.05), (0.3, 50, 1e-4), (0.0, 100, 0.01), (0.9, 1000, 0.5)]:

        def excess(q, seen=seen, samples=samples, alpha=alpha):
            return stats.entropy([seen, 1 - seen], [q, 1 - q]) - np.log(1 / alpha) / samples

        root = optimize.brentq(excess, seen + 1e-12, 1 - 1e-12, xtol=1e-14)
        bound = eigenvalue_upper_bound(9 * seen, reach=3.0, samples=samples, alpha=alpha)
        assert bound == pytest.approx(9 * root, rel=1e-9)


@relaxed
@given(st.floats(0, 1), st.integers(1, 10**6), st.floats(1e-9, 0.5), st.floats(0.1, 10))
def test_eigenvalue_bound_lies_between_the_sample_and_the_closed_form(seen, samples, alpha, reach):
    sampled = seen * reach**2
    b = reach**2 * np.log(1 / alpha) / (2 * samples)
    bound = eigenvalue_upper_bound(sampled, reach=reach, samples=samples, alpha=alpha)
    assert sampled * (1 - 1e-12) <= bound <= min((np.sqrt(b) + np.sqrt(b + sampled)) ** 2, reach**2) * (1 + 1e-9)


@pytest.mark.parametrize("samples", [50, 400])
@pytest.mark.parametrize("q", [0.02, 0.1, 0.5])
def test_exact_coverage_of_the_eigenvalue(samples, q):
    # y = 2 e_1 with probability q, else 0: the sampled eigenvalue is 4 K / samples with K binomial. No simulation.
    count = np.arange(samples + 1)
    bounds = np.array([eigenvalue_upper_bound(4 * k / samples, reach=2.0, samples=samples, alpha=0.05) for k in count])
    missed = stats.binom.pmf(count, samples, q)[bounds < 4 * q].sum()
    assert missed <= 0.05
    if samples * q >= 5:
        assert missed >= 0.005  # with twice the log it would be at most 0.05^2


@pytest.mark.parametrize(("reach", "law"), [(3.0, [0.1, 0.9, 0.0]), (3.0, [0.02, 0.3, 0.68]), (1.1, [0.0, 0.3, 0.7])])
def test_exact_coverage_of_the_split(reach, law):
    # y = reach e_1 (far), e_1 (near) or 0 with these probabilities; far and near counts are multinomial.
    samples, truth = 120, reach**2 * law[0] + law[1]
    missed = 0.0
    for far in range(36 if law[0] else 1):
        near = np.arange(samples - far + 1)
        bounds = [
            eigenvalue_upper_bound(n / samples, reach=reach, samples=samples, alpha=0.1, near=1.0, far=far)
            for n in near
        ]
        counts = np.column_stack([np.full_like(near, far), near, samples - far - near])
        missed += stats.multinomial.pmf(counts, samples, law)[np.array(bounds) < truth].sum()
    # Each half of alpha is paid although the other part's bound is rarely low at the same time.
    assert 1e-5 < missed <= 0.05


def test_the_split_pays_for_far_draws():
    common = {"reach": 10.0, "samples": 2000, "alpha": 0.01}
    whole = eigenvalue_upper_bound(0.02, **common)
    split = eigenvalue_upper_bound(0.02, near=0.5, far=0, **common)
    assert split < whole
    inner = eigenvalue_upper_bound(0.02, reach=0.5, samples=2000, alpha=0.005)
    outer = eigenvalue_upper_bound(100 * 3 / 2000, reach=10.0, samples=2000, alpha=0.005)
    assert eigenvalue_upper_bound(0.02, near=0.5, far=3, **common) == pytest.approx(inner + outer, rel=1e-12)
    assert eigenvalue_upper_bound(0.02, near=0.5, far=2000, **common) == 100.0
    assert eigenvalue_upper_bound(0.02, near=10.0, far=0, **common) == whole


@pytest.mark.parametrize("near", [None, 0.6])
def test_coverage_of_the_eigenvalue_of_a_spread_law(near):
    # Four points in 3 dimensions. At most 5 % of 2,000: 142 is passed by luck at most once in 50,000.
    points = np.array([[0.3, 0.2, 0.1], [-0.4, 0.1, 0.0], [0.1, -0.3, 0.2], [0.9, 0.3, -0.2]])
    law = np.array([0.3, 0.3, 0.3, 0.1])
    truth = np.linalg.eigvalsh(np.einsum("i,ij,ik->jk", law, points, points))[-1]
    reach = np.linalg.norm(points, axis=1).max()
    kept = np.ones(4) if near is None else (np.linalg.norm(points, axis=1) <= near)
    outer = np.einsum("i,ij,ik->ijk", kept, points, points)
    counts = np.random.default_rng(7).multinomial(150, law, size=2000)
    sampled = np.linalg.eigvalsh(np.einsum("ni,ijk->njk", counts / 150, outer))[:, -1]
    far = counts @ (1 - kept).astype(int)
    bounds = np.array(
        [
            eigenvalue_upper_bound(max(value, 0.0), reach=reach, samples=150, alpha=0.05, near=near, far=int(out))
            for value, out in zip(sampled, far, strict=True)
        ]
    )
    assert np.sum(bounds < truth) <= 142
    assert truth < bounds.mean() < 2 * truth  # 1.48 and 1.75 times, +- 0.004


# --- mean_radius


def radii(limit, norm, samples, alpha, eigenvalue):
    """McDiarmid's and Bousquet's radii, alpha shared: mean deviation plus the tail of each inequality."""
    log = np.log(2) - np.log(alpha)
    typical = np.sqrt((limit**2 - norm**2) / samples)
    # McDiarmid: one draw changes the deviation by at most 2 limit / n.
    mcdiarmid = typical + np.sqrt(samples * (2 * limit / samples) ** 2 * log / 2)
    # Bousquet: the supremum of n centred sums, each summand at most 2 limit, variance at most n eigenvalue.
    variance = samples * eigenvalue + 2 * (2 * limit) * samples * typical
    return mcdiarmid, typical + (np.sqrt(2 * variance * log) + 2 * limit * log / 3) / samples


@pytest.mark.parametrize("samples", [10, 1000, 10**5])
@pytest.mark.parametrize(("norm", "eigenvalue"), [(0.0, 1.0), (1.5, 0.01), (1.9, 0.0)])
def test_mean_radius_is_the_smaller_inequality(samples, norm, eigenvalue):
    mcdiarmid, bousquet = radii(2.0, norm, samples, 0.01, eigenvalue)
    common = {"limit": 2.0, "norm_lower": norm, "samples": samples, "alpha": 0.01}
    assert mean_radius(**common) == pytest.approx(mcdiarmid, rel=1e-12)
    assert mean_radius(eigenvalue_upper=eigenvalue, **common) == pytest.approx(min(mcdiarmid, bousquet), rel=1e-12)


def test_bousquet_wins_when_the_spread_is_small():
    common = {"limit": 1.0, "norm_lower": 0.9, "samples": 10_000, "alpha": 0.001}
    assert mean_radius(eigenvalue_upper=0.002, **common) < 0.6 * mean_radius(**common)
    assert mean_radius(eigenvalue_upper=1.0, **common) == mean_radius(**common)


def test_coverage_of_the_mean():
    # Unit vectors in 50 dimensions around 0.6 e_1. Both inequalities are loose, so not one of 100 may miss: the radius
    # is 10 deviations above the mean error, and 2.07 times it, so that no factor hides.
    rng = np.random.default_rng(8)
    noise = rng.normal(size=(100, 2000, 49))
    noise *= 0.8 / np.linalg.norm(noise, axis=2, keepdims=True)
    errors = np.linalg.norm(noise.mean(axis=1), axis=1)
    common = {"limit": 1.0, "norm_lower": 0.6, "samples": 2000, "alpha": 0.05}
    bousquet = mean_radius(eigenvalue_upper=0.64 / 49, **common)
    assert errors.max() < bousquet < mean_radius(**common)
    assert bousquet < 2.5 * errors.mean()


def test_mcdiarmid_on_its_worst_case():
    # +-1 in one direction, mean 0: the error's quantile at 1 - alpha is 3.29 / sqrt(n), the radius 4.9 / sqrt(n).
    quantile = stats.norm.isf(0.0005) / 10
    radius = mean_radius(limit=1.0, norm_lower=0.0, samples=100, alpha=0.001)
    assert quantile < radius < 1.6 * quantile


# --- spend


def test_all_looks_together_spend_alpha():
    shares = [spend(0.01, look) for look in range(1, 10_001)]
    assert shares[0] == 0.005
    assert sum(shares) == pytest.approx(0.01 * (1 - 1 / 10_001), rel=1e-12)
    assert all(share > 0 for share in shares)
