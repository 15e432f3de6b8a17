"""The paper's formulas are reproduced as printed, and shown not to be guarantees."""

import numpy as np
import pytest
from scipy import stats

from attribound.bounds import (
    cosine_bound,
    cosine_bound_paper,
    largest_moved_fraction_paper,
    max_epsilon_paper,
    moved_fraction,
    norm_interval_paper,
)
from tests.reference import exact


@pytest.mark.parametrize("row", exact.VECTORS, ids=exact.name)
def test_the_vectors(row):
    bound = cosine_bound_paper(row["norm"], row["limit"], row["moved_fraction"])
    assert bound == pytest.approx(row["cosine_paper"], rel=1e-12, abs=0)


def test_the_formula():
    assert cosine_bound_paper(3.0, 10.0, 0.2) == pytest.approx(3 / np.sqrt(9 + 16), rel=1e-15)
    assert cosine_bound_paper(0.5, 1.0, 0.0) == 1.0
    assert cosine_bound_paper(0.0, 1.0, 0.0) == 0.0
    assert cosine_bound_paper(0.0, 1.0, 0.5) == 0.0
    assert cosine_bound_paper([0.5, 0.6], 1.0, [[0.1], [0.2], [0.3]]).shape == (3, 2)
    assert type(cosine_bound_paper(1, 1, 0.5)) is float


def test_its_inverses():
    moved = largest_moved_fraction_paper(0.5, 1.0, np.array([0.6, 0.9, 1.0]))
    np.testing.assert_allclose(cosine_bound_paper(0.5, 1.0, moved), [0.6, 0.9, 1.0], rtol=1e-14)
    assert largest_moved_fraction_paper(0.5, 1.0, 0.0) == 1.0  # capped: the formula is never 0
    assert largest_moved_fraction_paper(0.0, 1.0, 0.0) == 0.0
    assert largest_moved_fraction_paper(1.0, 1.0, 0.1) == 1.0
    epsilon = max_epsilon_paper(0.8, norm=0.5, limit=1.0, dim=784, radius=2.0)
    assert cosine_bound_paper(0.5, 1.0, moved_fraction(epsilon, dim=784, radius=2.0)) == pytest.approx(0.8, rel=1e-12)
    epsilon = max_epsilon_paper(0.8, norm=0.5, limit=1.0, sigma=2.0)
    assert cosine_bound_paper(0.5, 1.0, moved_fraction(epsilon, sigma=2.0)) == pytest.approx(0.8, rel=1e-12)
    assert type(epsilon) is float


def test_three_regions_break_the_papers_bound_and_not_ours():
    p = moved_fraction(0.021812, dim=784, radius=1.0)
    leaving, staying = np.array([0.96, -0.28]), np.array([0.3547, 0.0884])
    arriving = -leaving
    assert max(np.linalg.norm(g) for g in (leaving, staying, arriving)) <= 1 + 1e-15
    before, after = p * leaving + (1 - p) * staying, (1 - p) * staying + p * arriving
    norm = np.linalg.norm(before)
    cosine = before @ after / (norm * np.linalg.norm(after))
    assert norm == pytest.approx(0.5, abs=1e-4)
    assert cosine == pytest.approx(0.28, abs=1e-3)
    assert cosine_bound_paper(norm, 1.0, p) == pytest.approx(0.721, abs=1e-3)
    # Ours is not violated, and not loose: this field is the worst there is, up to its printed digits.
    assert cosine - 1e-3 <= cosine_bound(norm, 1.0, p) <= cosine


@pytest.mark.parametrize(("dim", "epsilon"), [(2, 0.5), (784, 0.01), (150528, 1e-4)])
def test_the_absolute_value_breaks_the_papers_bound_and_not_ours(dim, epsilon):
    # Saliency of |y_1| is +-e_1. Half a shift left of the kink the mean is -p e_1, half right of it +p e_1.
    p = moved_fraction(epsilon, dim=dim, radius=1.0)
    assert cosine_bound_paper(p, 1.0, p) == pytest.approx(1 / np.sqrt(5), rel=1e-12)
    assert cosine_bound(p, 1.0, p) == -1.0


def test_the_interval_with_equal_variances_is_noncentral_chi_square():
    mean = np.array([[0.3, -0.2, 0.5, 0.1], [0.0, 0.4, -0.1, 0.2], [0.3, 0.1, 0.0, -0.6]])
    low, high = norm_interval_paper(mean, np.full_like(mean, 0.8), samples=50, alpha=0.1)
    scale = 0.8 / 50
    ends = np.sqrt(scale * stats.ncx2.ppf([0.05, 0.95], 12, np.sum(mean**2) / scale))
    np.testing.assert_allclose([low, high], ends, rtol=1e-6)


def test_the_interval_agrees_with_simulation():
    # 5 % of 40,000 on each side: deviation 0.11 %; 4.6 of them, one false alarm in 110,000 runs.
    rng = np.random.default_rng(0)
    mean, variances = rng.normal(size=12), rng.uniform(0.1, 3, 12)
    low, high = norm_interval_paper(mean, variances, samples=10, alpha=0.1)
    norms = np.linalg.norm(mean + rng.normal(size=(40_000, 12)) * np.sqrt(variances / 10), axis=1)
    assert np.mean(norms < low) == pytest.approx(0.05, abs=0.005)
    assert np.mean(norms > high) == pytest.approx(0.05, abs=0.005)


def test_the_interval_without_noise_is_a_point():
    assert norm_interval_paper([3.0, 4.0], [0.0, 0.0], samples=5, alpha=0.1) == (5.0, 5.0)


def test_coordinates_without_noise_are_added():
    noisy, variances = np.linspace(-1, 1, 10), np.full(10, 0.5)
    ends = norm_interval_paper(noisy, variances, samples=20, alpha=0.1)
    with_fixed = norm_interval_paper([*noisy, 2.0], [*variances, 0.0], samples=20, alpha=0.1)
    np.testing.assert_allclose(np.square(with_fixed), np.square(ends) + 4, rtol=1e-9)


def test_the_interval_is_not_an_interval():
    # d = 784, N = 1,000, mean length 0.3, trace of a unit field: nominally 0.5 % of lower ends are too high. The biased
    # centre makes it 60 % (measured, 4,000 runs); fewer than 40 of 100 comes up once in 37,000.
    rng = np.random.default_rng(1)
    mean = np.zeros(784)
    mean[0] = 0.3
    variances = np.full(784, (1 - 0.09) / 784)
    misses = 0
    for _ in range(100):
        sampled = mean + rng.normal(size=784) * np.sqrt(variances / 1000)
        misses += norm_interval_paper(sampled, variances, samples=1000, alpha=0.01)[0] > 0.3
    assert misses >= 40
