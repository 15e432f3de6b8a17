import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attribound.bounds import (
    Evidence,
    cosine_bound,
    cosine_bound_covariance,
    cosine_bound_curvature,
    displacement_covariance,
    displacement_curvature,
    max_epsilon,
    moved_fraction,
)
from tests.reference import exact

relaxed = settings(deadline=None, database=None, derandomize=True, max_examples=15)

BALL = Evidence(dim=784, noise_kind="uniform", scale=3.5, limit=2.0, norm_lower=1.7, eigenvalue_upper=0.05)
GAUSSIAN = dataclasses.replace(BALL, noise_kind="gaussian", scale=0.5)
GRADIENT = dataclasses.replace(GAUSSIAN, scale=2.5, probability_gradient=True)
ALL = {"ball": BALL, "gaussian": GAUSSIAN, "gradient": GRADIENT}


def near(value):
    """Equal but for rounding outwards."""
    return pytest.approx(value, rel=1e-10)


def test_each_rule_is_asked_with_the_right_numbers():
    p = moved_fraction(0.05, dim=784, radius=3.5)
    assert p < BALL.moved_fraction(0.05) <= p * (1 + 1e-11), "rounded outwards, a little"
    assert BALL.cosines(0.05) == near(
        {
            "tight": cosine_bound(1.7, 2.0, p),
            "covariance": cosine_bound_covariance(1.7, 2.0, 0.05, moved_fraction=p),
        }
    )
    p = moved_fraction(0.05, sigma=0.5)
    assert p < GAUSSIAN.moved_fraction(0.05) <= p * (1 + 1e-11)
    assert GAUSSIAN.cosines(0.05) == near(
        {
            "tight": cosine_bound(1.7, 2.0, p),
            "covariance": cosine_bound_covariance(1.7, 2.0, 0.05, epsilon=0.05, sigma=0.5),
        }
    )
    assert GRADIENT.cosines(0.05)["curvature"] == near(cosine_bound_curvature(1.7, epsilon=0.05, sigma=2.5))


def test_rounding_is_outwards_where_a_root_magnifies_it():
    """Near cosine 0 the root turns an error of 1e-16 in p into 1e-8 in the cosine; 40 digits are the judge."""
    evidence = Evidence(dim=784, noise_kind="uniform", scale=1.0, limit=1.0, norm_lower=0.5, eigenvalue_upper=1.0)
    epsilon = evidence.max_epsilon(0.0)
    for _ in range(200):
        epsilon = float(np.nextafter(epsilon, 0.0))
        p = exact.ball_moved(epsilon, 784, 1.0)
        assert evidence.cosines(epsilon)["tight"] <= exact.cosine(0.5, p)


def test_curvature_is_for_gaussian_gradients_of_probabilities_only():
    assert set(GRADIENT.cosines(0.1)) == {"tight", "covariance", "curvature"}
    assert set(GAUSSIAN.cosines(0.1)) == {"tight", "covariance"}
    assert set(dataclasses.replace(BALL, probability_gradient=True).cosines(0.1)) == {"tight", "covariance"}
    ball = dataclasses.replace(BALL, probability_gradient=True)
    assert ball.displacement(0.1, 2.0) == BALL.displacement(0.1, 2.0)


def test_the_best_rule_is_named():
    wide = dataclasses.replace(BALL, norm_lower=0.8, eigenvalue_upper=4.0)
    assert GRADIENT.best(0.1)[1] == "curvature"
    assert GAUSSIAN.best(0.3)[1] == "covariance"
    assert wide.best(0.02)[1] == "tight"


@pytest.mark.parametrize("name", ALL)
def test_the_best_is_the_largest_less_rounding(name):
    for epsilon in np.linspace(0, 1, 21):
        largest = max(ALL[name].cosines(epsilon).values())
        best, rule = ALL[name].best(epsilon)
        assert largest - 1e-11 <= best <= largest
        assert (rule is None) == (largest == -1.0)


def test_nothing_to_say_has_no_rule():
    assert BALL.best(7.0) == (-1.0, None)
    assert GAUSSIAN.best(20.0) == (-1.0, None)
    assert dataclasses.replace(BALL, norm_lower=0.0).best(0.0) == (-1.0, None)
    assert dataclasses.replace(BALL, norm_lower=0.0).max_epsilon(0.5) == 0.0


def test_the_trace_limits_the_eigenvalue():
    assert BALL.eigenvalue == 0.05
    loose = dataclasses.replace(BALL, eigenvalue_upper=3.0)
    assert loose.eigenvalue == near(4 - 1.7**2)
    assert loose.cosines(0.05) == near(dataclasses.replace(BALL, eigenvalue_upper=4 - 1.7**2).cosines(0.05))
    # A norm that rounds to its limit must not pass for a field that is constant to the last digit.
    assert 0 < dataclasses.replace(BALL, norm_lower=2.0).eigenvalue < 1e-10


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("cosine", [0.0, 0.3, 0.8, 0.99, 0.999999])
def test_max_epsilon_is_the_last_epsilon(name, cosine):
    evidence = ALL[name]
    epsilon = evidence.max_epsilon(cosine)
    assert epsilon > 0
    assert evidence.best(epsilon)[0] >= cosine
    assert evidence.best(epsilon * (1 + 1e-6))[0] < cosine + 1e-12
    assert evidence.best(epsilon * 1.001)[0] < cosine


def test_max_epsilon_of_the_tight_rule_alone():
    wide = dataclasses.replace(BALL, norm_lower=0.8, eigenvalue_upper=4.0)
    closed = max_epsilon(0.8, norm=0.8, limit=2.0, dim=784, radius=3.5)
    assert wide.max_epsilon(0.8) == pytest.approx(closed, rel=1e-9)


def test_max_epsilon_for_certainty_is_nothing():
    assert [evidence.max_epsilon(1.0) < 1e-6 for evidence in ALL.values()] == [True, True, True]


@relaxed
@given(
    st.sampled_from(sorted(ALL)),
    st.floats(0.05, 2.0),
    st.floats(0, 4),
    st.floats(0.01, 50),
    st.floats(0.0, 0.9999),
    st.floats(1.001, 3),
)
def test_best_and_max_epsilon_agree(name, norm, eigenvalue, scale, cosine, more):
    evidence = dataclasses.replace(ALL[name], norm_lower=norm, eigenvalue_upper=eigenvalue, scale=scale)
    epsilon = evidence.max_epsilon(cosine)
    assert evidence.best(epsilon)[0] >= cosine
    assert evidence.best(0.7 * epsilon)[0] >= cosine
    if epsilon < 9.9 * scale:  # Gaussian noise is searched up to 10 sigma
        assert evidence.best(epsilon * more + 1e-11 * scale)[0] < cosine


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.4])
def test_displacement_is_the_smallest_radius(epsilon):
    p = BALL.moved_fraction(epsilon)
    plain, spread = 4 * p, displacement_covariance(1.8, 2.0, 0.05, moved_fraction=p)
    assert BALL.displacement(epsilon, 1.8) == near(min(plain, spread))
    spread = displacement_covariance(1.8, 2.0, 0.05, epsilon=epsilon, sigma=0.5)
    assert GAUSSIAN.displacement(epsilon, 1.8) == near(min(4 * GAUSSIAN.moved_fraction(epsilon), spread))
    assert GRADIENT.displacement(epsilon, 1.8) == near(displacement_curvature(epsilon, 2.5))


def test_displacement_takes_the_norm_up_to_the_limit():
    assert BALL.displacement(0.1, 99.0) == BALL.displacement(0.1, 2.0)
    small = dataclasses.replace(BALL, norm_lower=0.1, eigenvalue_upper=1e-4)
    assert small.displacement(0.01, 0.2) < small.displacement(0.01, 1.0) < 4 * small.moved_fraction(0.01)
    assert [evidence.displacement(0.0, 2.0) for evidence in ALL.values()] == [0.0, 0.0, 0.0]
    # Two vectors within the limit are never further apart than twice the limit.
    assert GAUSSIAN.displacement(50.0, 2.0) == near(4.0)


def test_evidence_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        BALL.limit = 1.0
