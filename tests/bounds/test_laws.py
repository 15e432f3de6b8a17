import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attribound.bounds import moved_fraction
from attribound.bounds.overlap import one_law, shift_size
from tests.reference import exact

DIMENSIONS = (2, 3, 10, 784, 3072, 150528, 1_000_000)
MOVED = (1e-8, 1e-6, 1e-3, 0.05, 0.2, 0.5, 0.9, 0.99)

relaxed = settings(deadline=None, database=None, derandomize=True)


@pytest.mark.parametrize("row", exact.VECTORS, ids=exact.name)
def test_moved_fraction_of_the_vectors(row):
    moved = moved_fraction(row["epsilon"], dim=row["dim"], radius=row["radius"])
    assert moved == pytest.approx(row["moved_fraction"], rel=1e-12, abs=0)


@pytest.mark.parametrize("moved", MOVED)
@pytest.mark.parametrize("dim", DIMENSIONS)
def test_ball_agrees_with_40_digit_quadrature(dim, moved):
    epsilon = shift_size(moved, dim=dim, radius=3.5)
    assert (
        exact.relative_error(moved_fraction(epsilon, dim=dim, radius=3.5), exact.ball_moved(epsilon, dim, 3.5)) < 1e-12
    )
    assert exact.relative_error(epsilon, exact.ball_shift(moved, dim, 3.5, epsilon)) < 1e-12


@pytest.mark.parametrize("moved", MOVED)
def test_gaussian_agrees_with_40_digit_quadrature(moved):
    epsilon = shift_size(moved, sigma=0.7)
    assert exact.relative_error(moved_fraction(epsilon, sigma=0.7), exact.gaussian_moved(epsilon, 0.7)) < 1e-12
    assert exact.relative_error(epsilon, exact.gaussian_shift(moved, 0.7)) < 1e-12


def test_tiny_shifts_do_not_cancel_to_zero():
    # The naive 1 - I_{1-y} returns 0 here; to first order p = epsilon times the ball's central slice over its volume.
    assert exact.relative_error(moved_fraction(1e-18, dim=784, radius=1.0), exact.ball_moved(1e-18, 784, 1.0)) < 1e-12
    assert moved_fraction(1e-18, sigma=1.0) == pytest.approx(1e-18 / np.sqrt(2 * np.pi), rel=1e-12, abs=0)


def test_three_dimensions_by_hand():
    # Two unit balls at distance e share the volume fraction 1 - 3e/4 + e^3/16.
    epsilon = np.linspace(0, 2, 21)
    np.testing.assert_allclose(
        moved_fraction(epsilon, dim=3, radius=1.0), 3 * epsilon / 4 - epsilon**3 / 16, rtol=0, atol=1e-15
    )


def test_moved_fraction_is_what_sampling_sees():
    # A draw has left if it is outside the shifted ball. 200,000 draws: deviation 0.0011; 4.2 of them, 1 in 34,000.
    rng = np.random.default_rng(0)
    direction = rng.normal(size=(200_000, 5))
    points = direction / np.linalg.norm(direction, axis=1, keepdims=True) * 2.0 * rng.random((200_000, 1)) ** (1 / 5)
    points[:, 0] -= 0.8
    assert np.mean(np.linalg.norm(points, axis=1) > 2.0) == pytest.approx(
        moved_fraction(0.8, dim=5, radius=2.0), abs=0.0045
    )


def test_the_ends():
    assert moved_fraction(0.0, dim=10, radius=1.0) == 0.0
    assert moved_fraction(0.0, sigma=1.0) == 0.0
    assert moved_fraction(2.0, dim=10, radius=1.0) == 1.0
    assert moved_fraction(50.0, dim=10, radius=1.0) == 1.0
    assert shift_size(0.0, dim=10, radius=1.0) == shift_size(0.0, sigma=1.0) == 0.0
    assert shift_size(1.0, dim=10, radius=1.5) == 3.0
    assert shift_size(1.0, sigma=1.0) == np.inf


@relaxed
@given(
    st.integers(2, 10**6),
    st.floats(0.01, 100),
    st.lists(st.floats(0, 3), min_size=2, max_size=2),
)
def test_moved_fraction_rises_with_epsilon_and_dim_and_falls_with_radius(dim, radius, ratios):
    small, large = (radius * ratio for ratio in sorted(ratios))
    assert 0 <= moved_fraction(small, dim=dim, radius=radius) <= moved_fraction(large, dim=dim, radius=radius) <= 1
    assert moved_fraction(small, sigma=radius) <= moved_fraction(large, sigma=radius)
    tolerance = 1 + 1e-13
    assert (
        moved_fraction(small, dim=dim, radius=radius) <= moved_fraction(small, dim=dim + 1, radius=radius) * tolerance
    )
    assert moved_fraction(small, dim=dim, radius=2 * radius) <= moved_fraction(small, dim=dim, radius=radius)


@relaxed
@given(st.floats(1e-8, 0.999), st.integers(2, 10**6), st.floats(0.01, 100))
def test_shift_size_is_the_inverse(moved, dim, scale):
    assert moved_fraction(shift_size(moved, dim=dim, radius=scale), dim=dim, radius=scale) == pytest.approx(
        moved, rel=1e-12
    )
    assert moved_fraction(shift_size(moved, sigma=scale), sigma=scale) == pytest.approx(moved, rel=1e-12)


def test_shapes():
    table = moved_fraction(np.array([[0.1], [0.2]]), dim=np.array([2, 3, 10]), radius=1.0)
    assert table.shape == (2, 3)
    assert table[1, 2] == moved_fraction(0.2, dim=10, radius=1.0)
    assert type(moved_fraction(0.1, dim=3, radius=1)) is float
    assert type(moved_fraction(np.float64(0.1), sigma=np.float64(1))) is float
    assert moved_fraction([0.1, 0.2], sigma=[1.0, 2.0]).shape == (2,)
    assert shift_size([0.1, 0.2], dim=3, radius=1.0).shape == (2,)
    assert type(shift_size(0.1, sigma=1)) is float


def test_one_law():
    assert one_law(1.0, None) == "uniform"
    assert one_law(None, 1.0) == "gaussian"
