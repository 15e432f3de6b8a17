import dataclasses
import math
import time
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attribound.bounds import (
    RULES,
    Ball,
    Closeness,
    Evidence,
    Length,
    Normal,
    ProbabilityGradient,
    Spread,
    cosine_bound,
    cosine_bound_curvature,
    displacement_curvature,
    max_epsilon,
    moved_fraction,
)
from attribound.bounds.rules.covariance import Covariance
from attribound.errors import ArgumentError
from tests.bounds.known import knowing
from tests.reference import exact

relaxed = settings(deadline=None, database=None, derandomize=True, max_examples=15)

BALL = knowing(Ball(784, 3.5), 2.0, 1.7, 0.05)
GAUSSIAN = knowing(Normal(784, 0.5), 2.0, 1.7, 0.05)
GRADIENT = knowing(Normal(784, 2.5), 2.0, 1.7, 0.05, gradient=True)
ALL = {"ball": BALL, "gaussian": GAUSSIAN, "gradient": GRADIENT}


def near(value):
    """Equal but for rounding outwards."""
    return pytest.approx(value, rel=1e-10)


def changed(evidence, *, norm=1.7, eigenvalue=0.05, scale=None, gradient=None):
    """The same evidence with other numbers."""
    law = evidence.law if scale is None else type(evidence.law)(evidence.law.dim, scale)
    stated = ProbabilityGradient in evidence.facts if gradient is None else gradient
    return knowing(law, 2.0, norm, eigenvalue, gradient=stated)


def test_each_rule_is_asked_with_the_right_numbers():
    for evidence, how in ((BALL, {"dim": 784, "radius": 3.5}), (GAUSSIAN, {"sigma": 0.5})):
        p = moved_fraction(0.05, **how)
        assert p < evidence.moved_fraction(0.05) <= p * (1 + 1e-11), "rounded outwards, a little"
        assert {name: float(value) for name, value in evidence.cosines(0.05).items()} == near(
            {"tight": cosine_bound(1.7, 2.0, p), "covariance": float(Covariance().cosine(evidence, np.float64(0.05)))}
        )
    assert GRADIENT.cosines(0.05)["curvature"] == near(cosine_bound_curvature(1.7, epsilon=0.05, sigma=2.5))


def test_rounding_is_outwards_where_a_root_magnifies_it():
    """Near cosine 0 the root turns an error of 1e-16 in p into 1e-8 in the cosine; 40 digits are the judge."""
    evidence = knowing(Ball(784, 1.0), 1.0, 0.5, 1.0)
    epsilon = float(evidence.max_epsilon(0.0))
    for _ in range(200):
        epsilon = float(np.nextafter(epsilon, 0.0))
        p = exact.ball_moved(epsilon, 784, 1.0)
        assert float(evidence.cosines(epsilon)["tight"]) <= exact.cosine(0.5, p)


def test_curvature_is_for_gaussian_gradients_of_probabilities_only():
    assert set(GRADIENT.cosines(0.1)) == {"tight", "covariance", "curvature"}
    assert set(GAUSSIAN.cosines(0.1)) == {"tight", "covariance"}
    ball = changed(BALL, gradient=True)
    assert set(ball.cosines(0.1)) == {"tight", "covariance"}
    assert ball.displacement(0.1) == BALL.displacement(0.1)


def test_a_rule_without_its_facts_says_nothing():
    bare = Evidence.of(Normal(784, 0.5), 2.0, Length(1.7, 1.7))
    assert set(bare.cosines(0.1)) == {"tight"}
    assert bare.cosine(0.1) <= GAUSSIAN.cosine(0.1)
    for rule in RULES:
        assert rule.applies(GRADIENT) == (set(rule.needs) <= set(GRADIENT.facts))


def test_the_best_rule_is_named():
    wide = changed(BALL, norm=0.8, eigenvalue=4.0)
    assert GRADIENT.rule_at(0.1) == "curvature"
    assert GAUSSIAN.rule_at(0.3) == "covariance"
    assert wide.rule_at(0.02) == "tight"


@pytest.mark.parametrize("name", ALL)
def test_the_best_is_the_largest_less_rounding(name):
    for epsilon in np.linspace(0, 1, 21):
        cosines = ALL[name].cosines(epsilon)
        largest, best, rule = max(cosines.values()), ALL[name].cosine(epsilon), ALL[name].rule_at(epsilon)
        assert largest - 1e-11 <= best <= largest
        assert rule is None if largest == -1.0 else cosines[rule] == largest


def test_nothing_to_say_has_no_rule():
    for evidence, epsilon in ((BALL, 7.0), (GAUSSIAN, 20.0), (changed(BALL, norm=0.0), 0.0)):
        assert (float(evidence.cosine(epsilon)), evidence.rule_at(epsilon)) == (-1.0, None)
    assert changed(BALL, norm=0.0).max_epsilon(0.5) == 0.0


def test_the_trace_limits_the_eigenvalue():
    assert BALL.eigenvalue == 0.05
    loose = changed(BALL, eigenvalue=3.0)
    assert loose.eigenvalue == near(4 - 1.7**2)
    tight = changed(BALL, eigenvalue=4 - 1.7**2)
    assert {k: float(v) for k, v in loose.cosines(0.05).items()} == near(
        {k: float(v) for k, v in tight.cosines(0.05).items()}
    )
    # A norm that rounds to its limit must not pass for a field that is constant to the last digit.
    assert 0 < changed(BALL, norm=2.0).eigenvalue < 1e-10


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("cosine", [0.0, 0.3, 0.8, 0.99, 0.999999])
def test_max_epsilon_is_the_last_epsilon(name, cosine):
    evidence = ALL[name]
    epsilon = evidence.max_epsilon(cosine)
    assert epsilon > 0
    assert evidence.cosine(epsilon) >= cosine
    assert evidence.cosine(epsilon * (1 + 1e-6)) < cosine + 1e-12
    assert evidence.cosine(epsilon * 1.001) < cosine


def test_max_epsilon_of_the_tight_rule_alone():
    wide = changed(BALL, norm=0.8, eigenvalue=4.0)
    closed = max_epsilon(0.8, norm=0.8, limit=2.0, dim=784, radius=3.5)
    assert wide.max_epsilon(0.8) == pytest.approx(closed, rel=1e-9)


def test_max_epsilon_for_certainty_is_nothing():
    assert [bool(evidence.max_epsilon(1.0) < 1e-6) for evidence in ALL.values()] == [True, True, True]


@relaxed
@given(
    st.sampled_from(sorted(ALL)),
    st.floats(0.05, 2.0),
    st.floats(0, 4),
    st.floats(0.01, 50),
    st.floats(0.0, 0.9999),
    st.floats(1.001, 3),
)
def test_cosine_and_max_epsilon_agree(name, norm, eigenvalue, scale, cosine, more):
    evidence = changed(ALL[name], norm=norm, eigenvalue=eigenvalue, scale=scale)
    epsilon = evidence.max_epsilon(cosine)
    assert evidence.cosine(epsilon) >= cosine
    assert evidence.cosine(0.7 * epsilon) >= cosine
    if epsilon < 9.9 * scale:  # Gaussian noise is searched up to 10 sigma
        assert evidence.cosine(epsilon * more + 1e-11 * scale) < cosine


def from_above(evidence, upper):
    """The same evidence, its norm known from above only up to `upper`."""
    facts = {**evidence.facts, Length: Length(1.7, upper), Closeness: Closeness(0.0, 1e-4)}
    return Evidence(evidence.law, evidence.limit, facts)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.4])
def test_displacement_is_the_smallest_radius(epsilon):
    for evidence in (BALL, GAUSSIAN):
        known = from_above(evidence, 1.8)
        spread = Covariance().displacement(known, np.float64(epsilon))
        assert known.displacement(epsilon) == near(min(4 * float(known.moved_fraction(epsilon)), float(spread)))
    assert from_above(GRADIENT, 1.8).displacement(epsilon) == near(displacement_curvature(epsilon, 2.5))


def test_displacement_takes_the_norm_up_to_the_limit():
    assert from_above(BALL, 99.0).displacement(0.1) == from_above(BALL, 2.0).displacement(0.1)
    facts = dict(BALL.facts)
    del facts[Closeness]
    assert Evidence(BALL.law, 2.0, facts).norm_upper == 2.0, "without a radius the sampled norm says nothing"
    assert from_above(BALL, 1.75).norm_upper == 1.75
    small = {k: Evidence.of(BALL.law, 2.0, Length(0.1, k), Spread(1e-4), Closeness(0.0, 1e-4)) for k in (0.2, 1.0)}
    assert small[0.2].displacement(0.01) < small[1.0].displacement(0.01) < 4 * small[1.0].moved_fraction(0.01)
    assert [float(evidence.displacement(0.0)) for evidence in ALL.values()] == pytest.approx([0.0, 0.0, 0.0], abs=1e-6)
    # Two vectors within the limit are never further apart than twice the limit.
    assert GAUSSIAN.displacement(50.0) == near(4.0)


def test_evidence_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        BALL.limit = 1.0


# --- about many explanations at once


def many(law, count, *, gradient=False, seed=0):
    rng = np.random.default_rng(seed)
    return [
        knowing(law, 2.0, 2 * float(rng.uniform(0, 1)), 4 * float(10.0 ** rng.uniform(-4, 0)), gradient=gradient)
        for _ in range(count)
    ]


LAWS = [(Normal(784, 0.75), False), (Normal(784, 0.5), True), (Ball(784, 14.0), False)]


@pytest.mark.parametrize(("law", "gradient"), LAWS, ids=str)
def test_stacked_evidence_says_what_each_says_alone(law, gradient):
    members = many(law, 12, gradient=gradient)
    stacked = Evidence.stack(members)
    epsilons = np.linspace(0.0, 3 * law.sigma, 9)
    for question in ("cosine", "displacement"):
        together = getattr(stacked, question)(epsilons)
        alone = np.array([[float(getattr(one, question)(epsilon)) for epsilon in epsilons] for one in members])
        assert together.shape == (12, 9)
        np.testing.assert_allclose(together, alone, rtol=0, atol=1e-14)
    for cosine in (0.0, 0.5, 0.9):
        found = stacked.max_epsilon(cosine)
        alone = np.array([float(one.max_epsilon(cosine)) for one in members])
        np.testing.assert_allclose(found[:, 0], alone, rtol=0, atol=1e-11 * law.value)
    joined = Evidence.join([Evidence.stack(members[:1]), Evidence.stack(members[1:])])
    assert joined.shape == stacked.shape
    np.testing.assert_array_equal(joined.cosine(epsilons), stacked.cosine(epsilons))
    assert np.any(stacked.cosine(epsilons) >= 0)
    assert np.any(stacked.cosine(epsilons) < 0)


@pytest.mark.parametrize(("law", "gradient"), LAWS, ids=str)
def test_more_questions_than_fit_are_answered_lower_never_higher(law, gradient):
    """Pages ask for hundreds of records at tens of epsilons: a coarser grid of truncations, which is valid too."""
    members = many(law, 500, gradient=gradient, seed=1)
    epsilons = np.linspace(0.0, 2 * law.sigma, 12)
    together = Evidence.stack(members).cosine(epsilons)
    chosen = range(0, 500, 25)
    alone = np.array([[float(members[row].cosine(epsilon)) for epsilon in epsilons] for row in chosen])
    assert np.all(together[list(chosen)] <= alone + 1e-14)
    both = (together[list(chosen)] >= 0) & (alone >= 0.3)
    assert np.abs(together[list(chosen)] - alone)[both].max() <= 5e-3
    radii = Evidence.stack(members).displacement(epsilons)
    alone = np.array([[float(members[row].displacement(epsilon)) for epsilon in epsilons] for row in chosen])
    assert np.all(radii[list(chosen)] >= alone * (1 - 1e-14))


def test_the_largest_epsilons_of_a_run_are_those_of_its_certificates():
    """A thousand records at once, one question each: no coarser than alone."""
    members = many(Normal(784, 0.75), 1000, seed=2)
    together = Evidence.stack(members).max_epsilon(0.8)[:, 0]
    for row in range(0, 1000, 100):
        assert together[row] == pytest.approx(float(members[row].max_epsilon(0.8)), abs=1e-11)


def test_stacked_evidence_is_much_faster():
    members, epsilons = many(Normal(784, 0.75), 100), np.linspace(0.01, 1.0, 20)
    started = time.perf_counter()
    alone = [float(one.cosine(epsilon)) for one in members for epsilon in epsilons]
    middle = time.perf_counter()
    together = Evidence.stack(members).cosine(epsilons)
    assert together.size == len(alone)
    # 15 times in practice; half the difference for a busy machine.
    assert time.perf_counter() - middle < (middle - started) / 3


@pytest.mark.parametrize("epsilon", [-0.1, math.nan, math.inf])
@pytest.mark.parametrize("name", ALL)
def test_a_change_without_a_size_is_refused(name, epsilon):
    known = ALL[name]
    for ask in (known.cosine, known.displacement, known.moved_fraction, known.rule_at, partial(known.holds, 0.5)):
        with pytest.raises(ArgumentError, match="`epsilon`"):
            ask(epsilon)
