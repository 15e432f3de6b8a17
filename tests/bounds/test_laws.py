import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from attribound.bounds import LAWS, Ball, Normal, moved_fraction, parse_law, shift_size
from attribound.bounds.laws import law_given, truncate_normal
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


def test_the_law_of_a_keyword():
    assert law_given(radius=1.0, sigma=None) == (Ball, 1.0)
    assert law_given(radius=None, sigma=2.0) == (Normal, 2.0)


# --- laws as values


EVERY = [Ball(2, 0.7), Ball(784, 14.0), Normal(2, 0.3), Normal(784, 0.5), Normal(3, 1.0)]


@pytest.mark.parametrize("law", EVERY, ids=str)
def test_a_law_is_a_value_that_people_can_type(law):
    again = parse_law(law.spec, law.dim)
    assert again == law
    assert hash(again) == hash(law)
    assert LAWS[law.kind] is type(law)
    assert f"{law.value:g}" in law.words
    assert type(law).value_of(law.sigma, law.dim) == pytest.approx(law.value, rel=1e-15)
    assert getattr(law, law.parameter) == law.value


def test_both_laws_of_one_energy_have_one_sigma_and_one_radius():
    ball, normal = Ball(784, 14.0), Normal(784, 14.0 / np.sqrt(786))
    assert ball.sigma == pytest.approx(normal.sigma, rel=1e-15)
    assert normal.radius == pytest.approx(14.0, rel=1e-15)
    assert Normal(2, 0.1).words == "Gaussian, standard deviation 0.1 per feature"
    assert Ball(2, 0.1).words == "uniform in a ball of radius 0.1"


@pytest.mark.parametrize("law", EVERY, ids=str)
def test_the_methods_of_a_law_are_the_closed_forms(law):
    epsilon = law.value * np.linspace(0, 2.5, 11)
    by_keyword = moved_fraction(epsilon, dim=law.dim, **{law.parameter: law.value})
    np.testing.assert_array_equal(law.moved_fraction(epsilon), by_keyword)
    inside = epsilon[(by_keyword > 1e-6) & (by_keyword < 1 - 1e-6)]
    np.testing.assert_allclose(law.epsilon_at(law.moved_fraction(inside)), inside, rtol=1e-9)


@pytest.mark.parametrize("law", EVERY, ids=str)
def test_units_scale_epsilon_and_nothing_else(law):
    """The law divided by its units is the plain one, so every question has the same answer."""
    plain = type(law)(law.dim, law.value)
    epsilon = law.value * np.array([0.1, 0.5, 1.0])
    np.testing.assert_array_equal(law.moved_fraction(epsilon), plain.moved_fraction(epsilon))
    assert (law.reach, law.curvature, law.sigma) == (plain.reach, plain.curvature, plain.sigma)


@pytest.mark.parametrize("law", EVERY, ids=str)
@pytest.mark.parametrize("ratio", [0.01, 0.3, 1.0])
def test_every_truncation_is_one(law, ratio):
    """0 <= W <= L and E[L] = 1: the missing mass is in [0, 1], and no more is missing at a higher level."""
    epsilon = np.array([ratio * law.sigma])
    low, high = law.level_range(epsilon)
    levels = low[..., None] + (high - low)[..., None] * np.linspace(0, 1, 13)
    cut = law.truncate(epsilon[..., None], levels)
    assert np.all((cut.missing >= 0) & (cut.missing <= 1))
    assert np.all(np.diff(cut.missing, axis=-1) <= 1e-15)
    assert np.all(np.isfinite(cut.deviation))
    # Where nothing is cut off, W is the likelihood ratio on what both share: at least what moves is missing otherwise.
    assert cut.missing.min() <= law.moved_fraction(epsilon)[0] * (1 + 1e-9)


def test_truncations_of_normal_noise_scale_with_sigma():
    law, epsilon, level = Normal(5, 0.25), np.array([0.1, 0.2]), np.array([1.0, 2.0])
    ours, plain = law.truncate(epsilon, level), truncate_normal(epsilon / 0.25, level)
    np.testing.assert_array_equal(ours.missing, plain.missing)
    np.testing.assert_array_equal(ours.deviation, plain.deviation)


def test_normal_noise_knows_its_shift_and_the_ball_does_not():
    assert Normal(4, 0.5).normal_shift(0.2) == 0.4
    assert Ball(4, 0.5).normal_shift(0.2) is None
    assert Ball(4, 0.5).curvature is None
    assert Normal(4, 0.5).curvature == pytest.approx(0.48394145 / 0.25, rel=1e-8)


@pytest.mark.parametrize("law", EVERY, ids=str)
def test_a_majority_stays_one_within_its_radius_and_no_further(law):
    """The worst event loses exactly what moves (ball), or its normal quantile (Gaussian): both computed here anew."""
    lower = np.array([0.1, 0.5, 0.6, 0.9, 0.999])
    radius = law.majority_radius(lower)
    assert radius[0] == radius[1] == 0.0
    assert np.all(np.diff(radius[1:]) > 0)
    if law.curvature is None:
        np.testing.assert_allclose(law.moved_fraction(radius[2:]), lower[2:] - 0.5, rtol=1e-9)
    else:
        np.testing.assert_allclose(stats.norm.cdf(radius[2:] / law.value), lower[2:], rtol=1e-9)


@pytest.mark.parametrize("law", EVERY, ids=str)
def test_beyond_the_reach_everything_has_moved(law):
    assert law.moved_fraction(law.reach) > 1 - 1e-6
