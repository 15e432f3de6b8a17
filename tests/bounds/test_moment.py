import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from attribound.bounds import designs as search
from attribound.bounds import lines, moment
from attribound.bounds.moment import Band, Conjugate, Design, Moments
from attribound.errors import ArgumentError
from tests.reference import moment as reference

relaxed = settings(deadline=None, database=None, derandomize=True, max_examples=40)
USUAL = Design(2.1, 228.0, 93.0)
FACT = Moments(cosine=0.8, centre=0.96, tilt=0.03, stretch=2.2, second=0.009, fourth=4e-4, design=USUAL, draws=7_936)
designs = st.builds(Design, st.floats(0, 30), st.floats(0, 3000), st.floats(1, 1000))

# (shift, design, low, high, E f*): made with tests/reference/moment.py at 40 digits.
EXACT = [
    (2.3, USUAL, -0.424, 1.576, 0.3840153185624847),
    (1.0, Design(1.0, 10.0, 5.0), -0.6, 1.4, 0.1717730522094622),
    (3.5, Design(5.0, 0.0, 300.0), -0.5, 1.5, 1.2536506084383314),
    (0.3, Design(0.5, 1000.0, 20.0), -0.424, 1.576, 0.007240993509269264),
]


def shift(fact=FACT, norm_lower=0.95, limit=1.0, alpha=1.25e-4):
    return moment.largest_shift(fact, norm_lower=norm_lower, limit=limit, alpha=alpha)


@pytest.mark.parametrize(("mu", "design", "low", "high", "exact"), EXACT)
def test_conjugate_mean_is_never_below_the_truth_and_close_to_it(mu, design, low, high, exact):
    assert exact <= moment.conjugate_mean(mu, design, low, high) <= exact + 1e-4


def test_the_stored_values_are_those_of_the_reference():
    mu, design, low, high, exact = EXACT[0]
    assert float(reference.conjugate_mean(mu, design, low, high, degree=3)) == pytest.approx(exact, rel=1e-9)


@relaxed
@given(designs, st.floats(0.05, 4), st.floats(-1, -0.1), st.floats(0.2, 2))
def test_no_strategy_earns_more_than_the_conjugate_mean(design, mu, low, high):
    """Any choice of y as a function of z is a lower bound on E f*; here the best of 400 values at 4,001 points."""
    z = np.linspace(-9, 12, 4001)
    y = np.linspace(low, high, 400)
    f = -design.ceiling * np.expm1(-(design.quadratic * y**2 + design.quartic * y**4) / design.ceiling)
    best = y[np.argmax(np.exp(mu * z - mu**2 / 2)[:, None] * y - f - y, axis=1)]
    edges = np.concatenate([[-np.inf], (z[1:] + z[:-1]) / 2, [np.inf]])
    under_p, under_q = np.diff(special.ndtr(edges)), np.diff(special.ndtr(edges - mu))
    earned = best @ (under_q - under_p) + under_p @ (
        design.ceiling * np.expm1(-(design.quadratic * best**2 + design.quartic * best**4) / design.ceiling)
    )
    found = moment.conjugate_mean(mu, design, low, high)
    assert earned <= found + 1e-12
    assert found <= earned + 2e-3 * (1 + found)


def test_square_loss_is_the_covariance_rule():
    """Without ceiling and fourth power, f* is s^2 / 4 g2: E f* = (exp(mu^2) - 1) / 4 g2."""
    found = moment.conjugate_mean(0.7, Design(4.0, 0.0, 1e7), -4.0, 8.0)
    assert found == pytest.approx(math.expm1(0.49) / 16, rel=1e-2)
    assert found >= math.expm1(0.49) / 16


def test_excess_is_the_mean_above_a_level():
    z = np.linspace(-12, 12, 200_001)
    mass = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    for level in (-0.5, 0.0, 0.4, 1.0, 30.0):
        brute = np.maximum(np.exp(1.3 * z - 0.845) - level, 0) @ mass
        assert float(lines.excess(np.array([level]), 1.3)[0]) == pytest.approx(brute, abs=1e-8)
    np.testing.assert_allclose(lines.excess(np.array([-1.0, 0.5, 2.0]), 0.0), [2.0, 0.5, 0.0])


@relaxed
@given(st.floats(-5, 1e6), st.floats(1e-12, 8), st.floats(1e-12, 8))
def test_excess_rises_with_the_shift(level, one, other):
    """So does the conjugate's mean, a positive combination of these: a certified shift covers all smaller ones."""
    small, large = (float(lines.excess(np.array([level]), mu)[0]) for mu in sorted((one, other)))
    assert max(1 - level, 0) - 1e-15 <= small <= large + 1e-12


@relaxed
@given(
    st.sampled_from(["second", "fourth", "tilt", "centre"]),
    st.floats(0.01, 1.0),
    st.floats(0.01, 1.0),
    st.sampled_from([0.5, 1.0, 2.2]),
)
def test_larger_moments_tilts_and_centres_never_give_a_larger_shift(name, one, other, stretch):
    scale = {"second": 0.05, "fourth": 0.002, "tilt": 1.0, "centre": 1.0}[name]
    facts = [dataclasses.replace(FACT, stretch=stretch, **{name: scale * x}) for x in sorted((one, other))]
    assert shift(facts[0]) >= shift(facts[1]) - 1e-4  # the nodes move with the range of y


@relaxed
@given(st.floats(0.3, 1.0), st.floats(0.3, 1.0), st.floats(1e-6, 0.5), st.floats(1e-6, 0.5))
def test_a_larger_norm_or_alpha_never_gives_a_smaller_shift(norm, larger, alpha, bolder):
    (norm, larger), (alpha, bolder) = sorted((norm, larger)), sorted((alpha, bolder))
    assert shift(norm_lower=norm) <= shift(norm_lower=larger)
    assert shift(alpha=alpha) <= shift(alpha=bolder)


def test_more_draws_and_a_smaller_cosine_reach_further():
    assert shift() < shift(dataclasses.replace(FACT, draws=20_000))
    assert shift(dataclasses.replace(FACT, cosine=0.9)) < shift()


def test_units_of_the_limit_do_not_matter():
    assert shift(norm_lower=0.95 * 3e-7, limit=3e-7) == pytest.approx(shift(), rel=1e-9)


def test_the_answer_satisfies_the_rule_and_a_little_more_does_not():
    """The rule spelled out, with its own integrals."""
    found = shift()
    angle = math.acos(0.8)
    low, high = 0.96 * math.sin(angle - 0.03) - 1, 0.96 * math.sin(angle + 0.03) + 1
    shrunk = 1 - math.sin(angle - 0.03) ** 2 * (1 - 2.2**-2)
    seen = USUAL.quadratic * shrunk * 0.009 + USUAL.quartic * shrunk**2 * 4e-4
    loss = USUAL.ceiling * (1 - math.exp(-seen / USUAL.ceiling - math.log(8000) / 7_936))
    assert moment.conjugate_mean(found, USUAL, low, high) + loss < 0.95 * 0.6
    assert moment.conjugate_mean(found + 1e-6, USUAL, low, high) + loss > 0.95 * 0.6 - 1e-6


def test_where_nothing_follows_the_shift_is_zero():
    assert shift(norm_lower=0.0) == 0.0
    assert shift(dataclasses.replace(FACT, cosine=1.0)) == 0.0
    assert shift(dataclasses.replace(FACT, tilt=1.6)) == 0.0
    assert shift(dataclasses.replace(FACT, second=1.0, fourth=1.0)) == 0.0
    assert shift(dataclasses.replace(FACT, draws=64)) == 0.0
    assert shift(dataclasses.replace(FACT, design=Design(1e300, 1e300, 1e-300))) == 0.0
    assert shift(dataclasses.replace(FACT, design=Design(1e300, 1e300, 1e300))) == 0.0


def test_draws_that_never_vary_reach_as_far_as_unseen_events_allow():
    """With no spread at all, only what N draws cannot see remains: Phi(mu - z_N) (1 + sin) = sin at the very best."""
    fact = dataclasses.replace(FACT, centre=1.0, tilt=0.0, second=0.0, fourth=0.0)
    design = search.choose_design(
        dataclasses.replace(fact, design=search.first_design(0.0, fact.draws)), norm=1.0, alpha=1e-3
    )
    rare = -special.ndtri(math.log(1000) / fact.draws)
    limit = rare + special.ndtri(0.6 / 1.6)
    assert 0.8 * limit < shift(dataclasses.replace(fact, design=design), norm_lower=1.0, alpha=1e-3) < limit + 0.1


def test_the_search_improves_on_its_start_and_stays_finite():
    start = dataclasses.replace(FACT, design=search.first_design(0.006, FACT.draws))
    chosen = search.choose_design(start, norm=0.95, alpha=1.25e-4)
    assert shift(dataclasses.replace(FACT, design=chosen)) > shift(start)
    empty = search.choose_design(dataclasses.replace(start, second=0.0, fourth=0.0), norm=0.0, alpha=0.1)
    assert all(math.isfinite(value) for value in dataclasses.astuple(empty))


def test_the_forecast_of_draws_is_about_right():
    wanted = 2.0
    draws = search.draws_for(wanted, FACT, norm=0.95, alpha=1e-3)
    assert 500 < draws < 8000
    for factor, enough in ((1.1, True), (0.9, False)):
        guess = dataclasses.replace(FACT, draws=round(factor * draws))
        design = search.choose_design(guess, norm=0.95, alpha=1e-3)
        assert (shift(dataclasses.replace(guess, design=design), alpha=1e-3) >= wanted) == enough
    assert search.draws_for(4.0, FACT, norm=0.95, alpha=1e-3) is None


@relaxed
@given(st.floats(0.05, 0.99), st.floats(0, math.pi / 2), st.sampled_from([0.3, 1.0, 2.2, 9.0]), st.integers(0, 10**6))
def test_the_band_holds_every_direction_that_matters(cosine, tilt, stretch, seed):
    """Random h within `tilt` of w and random e of E_theta(h), in 3 dimensions: projections, lengths and y."""
    rng = np.random.default_rng(seed)
    w, across = np.linalg.qr(rng.standard_normal((3, 2)))[0].T
    angle = tilt * rng.random()
    h = math.cos(angle) * w + math.sin(angle) * across
    band = Band.around(cosine, tilt)
    low, high = band.reach(0.7)
    for e in reference.directions(h, cosine, count=24):
        assert band.low <= e @ w <= band.high
        squeezed = e + (1 / stretch - 1) * (e @ w) * w
        assert squeezed @ squeezed <= band.shrinkage(stretch)
        assert low <= 0.7 * (e @ w) - 1
        assert 0.7 * (e @ w) + 1 <= high


def test_bad_arguments_are_named():
    with pytest.raises(ArgumentError, match="expected `ceiling` > 0, got 0"):
        Design(1.0, 1.0, 0.0)
    with pytest.raises(ArgumentError, match="expected `quartic` >= 0"):
        Design(1.0, -1.0, 1.0)
    with pytest.raises(ArgumentError, match=r"expected `cosine` in \[0, 1\]"):
        dataclasses.replace(FACT, cosine=1.2)
    with pytest.raises(ArgumentError, match="expected `fourth` to be a number, got nan"):
        dataclasses.replace(FACT, fourth=math.nan)
    with pytest.raises(ArgumentError, match="expected `draws` to be a whole number"):
        dataclasses.replace(FACT, draws=0)
    with pytest.raises(ArgumentError, match="expected `low` < `high`"):
        moment.conjugate_mean(1.0, USUAL, 1.0, 1.0)
    with pytest.raises(ArgumentError, match=r"expected `alpha` in \(0, 1\)"):
        shift(alpha=0.0)


def test_coarse_nodes_only_lose():
    fine, coarse = (Conjugate(USUAL, -0.424, 1.576, nodes).mean(2.0) for nodes in (1501, 101))
    assert fine < coarse < fine + 0.01
