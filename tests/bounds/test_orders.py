"""Orders of features: the bound against a 40-digit copy, against known truths, and forged facts."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from attribound.bounds import Ball, Normal, Orders, order_radii
from attribound.bounds.facts import Basis
from attribound.errors import ArgumentError
from tests.reference.orders import mean_after_shift

LAW = Normal(5, 0.5)
B = math.sqrt(2.0)


def radii(values, start, step, number, level=1e-6, law=LAW):
    thresholds = start + step * np.arange(number)
    counts = np.array([(values >= one).sum() for one in thresholds], np.float64)
    found = order_radii(
        np.array([start]), np.array([step]), counts[None], tested=len(values), limit=1.0, level=level, law=law
    )
    return float(found[0]), thresholds


def test_the_radius_is_where_the_naive_bound_crosses_zero() -> None:
    values = np.random.default_rng(0).normal(0.3, 0.15, 400).clip(-B, B)
    radius, thresholds = radii(values, -0.4, 0.1, 12)
    assert radius > 0.1
    with mpmath.workdps(40):
        below, above = (
            mean_after_shift(values, thresholds, least=B, level=1e-6, shift=radius * factor / LAW.value)
            for factor in (1 - 1e-6, 1 + 1e-6)
        )
    assert below > 0 > above, "neither unsound nor wasteful"


@pytest.mark.parametrize("law", [LAW, Ball(5, 1.0)])
def test_no_event_loses_more_than_the_law_says(law) -> None:
    """The half-space that a shift empties most, exactly; the ball's moved fraction by its own formula."""
    q = np.linspace(0.01, 0.99, 21)
    for epsilon in (0.0, 0.1, 0.6, 3.0):
        kept = law.kept_probability(q, epsilon)
        exact = q - law.moved_fraction(epsilon)
        if isinstance(law, Normal):
            exact = special.ndtr(special.ndtri(q) - epsilon / law.value)
        assert (kept <= np.maximum(exact, 0.0)).all()
        assert (kept >= exact - 1e-9).all()


def test_it_is_tight_for_a_difference_that_falls_along_the_shift() -> None:
    """U = mean - slope z, clipped far out, z normal along the change: after a shift s its mean is mean - slope s."""
    mean, slope, rng = 0.3, 0.2, np.random.default_rng(1)
    values = np.clip(mean - slope * rng.normal(size=200_000), -B, B)
    radius, _ = radii(values, mean - 6 * slope, 0.05 * slope, 200, level=1e-9)
    truth = LAW.value * mean / slope
    assert radius <= truth
    assert radius > 0.9 * truth


@given(st.integers(0, 10_000), st.floats(-0.3, 0.6), st.floats(0.01, 0.4))
@settings(max_examples=40, deadline=None)
def test_radii_never_exceed_the_truth_of_a_linear_difference(seed, mean, slope) -> None:
    """At a level of 1e-6 no example of forty is expected to fail (probability below 0.01 over all thresholds)."""
    values = np.clip(mean - slope * np.random.default_rng(seed).normal(size=500), -B, B)
    radius, _ = radii(values, max(mean - 5 * slope, -B), 0.1 * slope, 80)
    assert radius <= max(LAW.value * mean / slope, 0.0) + 1e-9
    more, _ = radii(values + 0.05, max(mean - 5 * slope, -B), 0.1 * slope, 80)
    assert more >= radius, "larger differences are proved at least as far"


def test_thresholds_below_the_least_difference_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"expected `start` >= -1\.41421"):
        order_radii(np.array([-2.0]), np.array([0.1]), np.ones((1, 3)), tested=5, limit=1.0, level=0.1, law=LAW)


def orders(radius=((0.0, 0.3, 0.1, 0.4), (0.0, 0.0, 0.2, 0.2)), features=(0.0, 1.0), alpha=1e-5) -> Orders:
    return Orders(np.array(features), np.array(radius), alpha)


def test_among_the_largest_counts_the_features_that_stay_below() -> None:
    """Of four features the first stays above two others up to 0.3, so it is among the two largest that far."""
    assert orders().among(1).tolist() == [0.1, 0.0]
    assert orders().among(2).tolist() == [0.3, 0.2]
    assert orders().among(3).tolist() == [0.4, 0.2]


def test_stored_orders_come_back_and_bad_ones_are_refused() -> None:
    stored = orders().to_json()
    assert Orders.from_json(stored) == orders()
    for change in (
        {"features": [0.0, 0.0]},
        {"features": [0.0, 4.0]},
        {"features": [0.5, 1.0]},
        {"radius": [[0.0, 0.1]]},
        {"radius": [[0.0, -0.1, 0.1, 0.1], [0.0, 0.0, 0.1, 0.1]]},
        {"alpha": 0.0},
    ):
        with pytest.raises(ValueError, match="orders"):
            Orders.from_json(stored | change)


def test_two_features_above_each_other_are_no_fact() -> None:
    basis = Basis(1.0, 100, 1e-3)
    assert orders().problems(basis) == []
    forged = orders(radius=((0.0, 0.3, 0.1, 0.4), (0.1, 0.0, 0.2, 0.2)))
    assert forged.problems(basis) == ["orders put two features above each other"]


def test_no_radius_is_beyond_that_of_an_event_that_all_draws_show() -> None:
    values = np.full(300, B * (1 - 1e-9))
    radius, _ = radii(values, -B, 2 * B / 300, 300, level=1e-5)
    most = orders().most(300, LAW)
    assert 0.9 * most < radius <= most
