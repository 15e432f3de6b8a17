import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from attribound.bounds import (
    cosine_bound,
    cosine_bound_paper,
    largest_moved_fraction,
    max_epsilon,
    min_radius,
    min_sigma,
    moved_fraction,
)
from tests.reference import brute, exact

relaxed = settings(deadline=None, database=None, derandomize=True)
unit = st.just(0.0) | st.floats(1e-100, 1.0)  # squares of smaller norms leave float64's range
NORMS = (0.01, 0.3, 0.5, 0.9, 0.95, 0.99, 0.999, 1 - 1e-6, 1 - 1e-10, 1.0)
MOVED = (1e-8, 1e-6, 1e-4, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.49, 0.5, 0.99)


def is_common(kappa, moved):
    """The unconstrained worst case: what stays has length sqrt(kappa^2 - 3 p^2), and that must not exceed 1 - p."""
    return kappa**2 - 3 * moved**2 <= (1 - moved) ** 2


@pytest.mark.parametrize("row", exact.VECTORS, ids=exact.name)
def test_the_vectors(row):
    common = {"norm": row["norm"], "limit": row["limit"], "dim": row["dim"]}
    bound = cosine_bound(row["norm"], row["limit"], row["moved_fraction"])
    assert bound == pytest.approx(row["cosine"], rel=1e-12, abs=0)
    epsilon = max_epsilon(row["threshold"], radius=row["radius"], **common)
    assert epsilon == pytest.approx(row["max_epsilon"], rel=1e-12, abs=0)
    radius = min_radius(row["threshold"], row["epsilon"], **common)
    assert radius == pytest.approx(row["min_radius"], rel=1e-12, abs=0)


# With limit 1, kappa is exact and the formulas cancel nowhere: 1e-12 holds in every corner. With another limit,
# kappa = norm / limit is rounded, and the *question* is ill-conditioned by 1 / (1 - kappa) and 1 / (1 - 2p / kappa).
@pytest.mark.parametrize("norm", NORMS)
def test_cosine_bound_agrees_with_40_digits(norm):
    for moved in MOVED:
        reference = exact.cosine(norm, moved)
        assert exact.relative_error(cosine_bound(norm, 1.0, moved), reference) < 1e-12
        if norm < 0.999 and 2 * moved < 0.99 * norm:
            assert exact.relative_error(cosine_bound(3.7 * norm, 3.7, moved), reference) < 1e-12


@pytest.mark.parametrize("norm", NORMS)
def test_largest_moved_fraction_agrees_with_40_digits(norm):
    for cosine in (0.0, 0.1, 0.7, 0.99, 1 - 1e-8):
        reference = exact.largest_moved(norm, cosine)
        assert exact.relative_error(largest_moved_fraction(norm, 1.0, cosine), reference) < 1e-12


@pytest.mark.parametrize("dim", [2, 3, 10, 784, 3072, 150528, 1_000_000])
@pytest.mark.parametrize(("norm", "cosine"), [(0.5, 0.9), (0.03, 0.999), (0.97, 0.8), (0.9999, 0.3)])
def test_inverses_agree_with_40_digits(dim, norm, cosine):
    moved = exact.largest_moved(norm, cosine)
    epsilon = max_epsilon(cosine, norm=norm, limit=1.0, dim=dim, radius=2.5)
    shift = exact.ball_shift(moved, dim, 2.5, epsilon)
    assert exact.relative_error(epsilon, shift) < 1e-12
    assert exact.relative_error(min_radius(cosine, 0.3, norm=norm, limit=1.0, dim=dim), 0.3 * 2.5 / shift) < 1e-12


@pytest.mark.parametrize(("norm", "cosine"), [(0.5, 0.9), (0.03, 0.999), (0.97, 0.8)])
def test_gaussian_inverses_agree_with_40_digits(norm, cosine):
    shift = exact.gaussian_shift(exact.largest_moved(norm, cosine), 2.5)
    assert exact.relative_error(max_epsilon(cosine, norm=norm, limit=1.0, sigma=2.5), shift) < 1e-12
    assert exact.relative_error(min_sigma(cosine, 0.3, norm=norm, limit=1.0), 0.3 * 2.5 / shift) < 1e-12


COMMON = [(0.5, 0.05), (0.5, 0.2), (0.3, 0.1), (0.3, 0.14), (0.8, 0.1)]
NEAR_ONE = [(0.9, 0.3), (0.95, 0.1), (0.97, 0.1865), (0.99, 0.05), (0.99, 0.4), (1.0, 0.1), (1.0, 0.3)]


@pytest.mark.parametrize(("norm", "moved"), COMMON + NEAR_ONE)
def test_an_optimiser_reaches_the_bound_and_never_passes_it(norm, moved):
    assert is_common(norm, moved) == ((norm, moved) in COMMON)
    bound = cosine_bound(norm, 1.0, moved)
    # SLSQP ends within 1e-6 of the constraints, hence on either side of the minimum.
    assert brute.smallest_cosine(norm, moved) == pytest.approx(bound, abs=2e-6)


@pytest.mark.parametrize(("norm", "moved"), [*COMMON, (0.9, 0.3), (0.95, 0.1)])
def test_a_dense_grid_reaches_the_bound_and_never_passes_it(norm, moved):
    bound = cosine_bound(norm, 1.0, moved)
    # Near one the worst R1 is a corner of the feasible set, which the grid meets only up to its angular step.
    step = 1e-4 if (norm, moved) in COMMON else 1e-3
    assert bound - 1e-12 <= brute.smallest_cosine_grid(norm, moved) <= bound + step


def test_the_branches_meet():
    moved = np.linspace(0.01, 0.49, 25)
    edge = np.sqrt(1 - 2 * moved + 4 * moved**2)
    below, above = cosine_bound(edge - 1e-9, 1.0, moved), cosine_bound(edge + 1e-9, 1.0, moved)
    np.testing.assert_allclose(below, above, rtol=0, atol=2e-7)


def test_the_ends():
    assert cosine_bound(0.5, 1.0, 0.0) == 1.0
    assert cosine_bound(1.0, 1.0, 0.0) == 1.0
    assert cosine_bound(0.0, 1.0, 0.0) == -1.0
    assert cosine_bound(0.5, 1.0, 0.25) == -1.0
    assert cosine_bound(1.0, 1.0, 1.0) == -1.0
    assert cosine_bound(1.0, 1.0, 0.5) == -1.0
    assert 0 < cosine_bound(0.5, 1.0, np.nextafter(0.25, 0)) < 1e-7
    assert largest_moved_fraction(0.5, 1.0, 1.0) == 0.0
    assert largest_moved_fraction(0.0, 1.0, 0.0) == 0.0
    assert largest_moved_fraction(0.5, 1.0, 0.0) == 0.25
    assert max_epsilon(1.0, norm=0.5, limit=1.0, dim=9, radius=1.0) == 0.0
    assert min_radius(1.0, 0.1, norm=0.5, limit=1.0, dim=9) == np.inf
    assert min_radius(1.0, 0.0, norm=0.5, limit=1.0, dim=9) == 0.0
    assert min_sigma(0.9, 0.1, norm=0.0, limit=1.0) == np.inf


def test_a_norm_above_its_limit_by_rounding_counts_as_the_limit():
    assert cosine_bound(1 + 1e-12, 1.0, 0.1) == cosine_bound(1.0, 1.0, 0.1)


@relaxed
@given(unit, st.lists(st.floats(0, 0.6), min_size=2, max_size=2))
def test_the_bound_falls_with_the_moved_fraction(norm, moved):
    assert cosine_bound(norm, 1.0, max(moved)) <= cosine_bound(norm, 1.0, min(moved)) + 1e-15


@relaxed
@given(st.lists(unit, min_size=2, max_size=2), st.floats(0, 0.5))
def test_the_bound_rises_with_the_norm(norms, moved):
    # Where the bound is nearly flat (kappa near 1), rounding may exceed the slope.
    assert cosine_bound(min(norms), 1.0, moved) <= cosine_bound(max(norms), 1.0, moved) + 2e-15


@relaxed
@given(unit, st.floats(0, 0.5), st.lists(st.floats(1, 100), min_size=2, max_size=2))
def test_the_bound_falls_with_the_limit(norm, moved, limits):
    assert cosine_bound(norm, max(limits), moved) <= cosine_bound(norm, min(limits), moved) + 2e-15


@relaxed
@given(st.floats(1e-3, 1), st.floats(1e-6, 1 - 1e-9))
def test_largest_moved_fraction_is_the_inverse(norm, cosine):
    moved = largest_moved_fraction(norm, 1.0, cosine)
    assert 0 < moved <= norm / 2
    assert cosine_bound(norm, 1.0, moved * (1 - 1e-12)) >= cosine - 1e-10
    assert cosine_bound(norm, 1.0, moved * (1 - 1e-9)) >= cosine * (1 - 1e-15)
    assert cosine_bound(norm, 1.0, moved * (1 + 1e-6)) < cosine


@relaxed
@given(st.floats(0.01, 1), st.floats(0.01, 0.999), st.integers(2, 10**6), st.floats(0.01, 100))
def test_max_epsilon_and_min_radius_are_one_question(norm, cosine, dim, radius):
    epsilon = max_epsilon(cosine, norm=norm, limit=1.0, dim=dim, radius=radius)
    assert min_radius(cosine, epsilon, norm=norm, limit=1.0, dim=dim) == pytest.approx(radius, rel=1e-12)
    reached = cosine_bound(norm, 1.0, moved_fraction(epsilon * (1 - 1e-9), dim=dim, radius=radius))
    assert cosine * (1 - 1e-12) <= reached <= cosine + 1e-4
    epsilon = max_epsilon(cosine, norm=norm, limit=1.0, sigma=radius)
    assert min_sigma(cosine, epsilon, norm=norm, limit=1.0) == pytest.approx(radius, rel=1e-12)


@relaxed
@given(st.floats(1e-3, 1), st.floats(1e-6, 0.5))
def test_the_paper_promises_more_in_the_common_case(norm, moved):
    assume(is_common(norm, moved))
    assert cosine_bound_paper(norm, 1.0, moved) >= cosine_bound(norm, 1.0, moved) - 1e-15


def test_near_one_the_paper_can_promise_less():
    assert cosine_bound_paper(0.97, 1.0, 0.1865) < cosine_bound(0.97, 1.0, 0.1865)


def test_shapes():
    table = cosine_bound(np.array([[0.5], [0.9]]), 1.0, np.array([0.01, 0.1, 0.3]))
    assert table.shape == (2, 3)
    assert table[1, 2] == cosine_bound(0.9, 1.0, 0.3)
    assert table[0, 2] == -1.0
    assert type(cosine_bound(0.5, 1, 0.1)) is float
    assert type(largest_moved_fraction(0.5, 1, 0.1)) is float
    assert largest_moved_fraction([0.5, 0.6], 1.0, [[0.1], [0.2]]).shape == (2, 2)
    assert max_epsilon([0.5, 0.9], norm=0.5, limit=1.0, dim=3, radius=[[1.0], [2.0]]).shape == (2, 2)
    assert type(max_epsilon(0.5, norm=0.5, limit=1.0, sigma=1.0)) is float
    assert type(min_radius(0.5, 0.1, norm=0.5, limit=1, dim=3)) is float
    assert min_radius([0.5, 0.9], 0.1, norm=0.5, limit=1.0, dim=3).shape == (2,)
    assert type(min_sigma(0.5, 0.1, norm=0.5, limit=1)) is float
