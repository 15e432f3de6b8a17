"""Counts, radii and facts about cells: exact references, exact coverage, tampered records."""

import math
import re
from fractions import Fraction
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from attribound.bounds import (
    FACTS,
    Ball,
    Closeness,
    ErrorBars,
    Evidence,
    Length,
    Majority,
    Normal,
    Spread,
    Votes,
    hot_cells,
    majority_needed,
    proportion_lower,
    top_k_overlap,
)
from attribound.bounds.facts import Basis
from attribound.bounds.shares import SHARES
from attribound.errors import ArgumentError
from tests.reference import brute, exact
from tests.reference.counts import proportion_lower as exact_lower

LAWS = [Normal(784, 0.5), Ball(784, 14.0), Ball(2, 1.0)]
CASES = [(1, 1, 0.1), (1, 7, 1e-3), (4, 7, 0.1), (88, 90, 2e-8), (90, 90, 2e-8), (300, 512, 1e-6), (511, 512, 1e-6)]


@pytest.mark.parametrize(("count", "samples", "alpha"), CASES)
def test_lower_bounds_agree_with_40_digits_and_are_never_above(count, samples, alpha) -> None:
    wanted, given = exact_lower(count, samples, alpha), float(proportion_lower(count, samples, alpha))
    assert given <= wanted
    assert given == pytest.approx(float(wanted), rel=1e-9)


def test_nothing_counted_proves_nothing() -> None:
    assert float(proportion_lower(0, 50, 0.1)) == 0.0
    assert proportion_lower(np.arange(51), 50, 0.1).shape == (51,)
    with pytest.raises(ArgumentError, match=r"expected `count` in 0\.\.samples, got 51"):
        proportion_lower(51, 50, 0.1)
    with pytest.raises(ArgumentError, match=r"expected `count` in 0\.\.samples, got 1\.5"):
        proportion_lower(1.5, 50, 0.1)


def test_every_count_has_a_bound_for_large_numbers_of_draws() -> None:
    """The inverse is confirmed by the tail itself; where it were not, the bound would be 0."""
    for samples in (100, 4096, 100_000):
        lower = proportion_lower(np.linspace(1, samples, 200).astype(int), samples, 1e-9)
        assert (lower > 0).all()
        assert (np.diff(lower) >= 0).all()


@pytest.mark.parametrize("samples", [20, 100])
def test_coverage_is_exact_and_a_bound_ten_percent_too_optimistic_has_it_not(samples) -> None:
    """No sampling: the probability that the bound exceeds the truth is a finite sum, at every probability of a grid."""
    truth = np.linspace(0.5, 0.95, 91)[:, None]
    masses = stats.binom.pmf(np.arange(samples + 1), samples, truth)
    lower = proportion_lower(np.arange(samples + 1), samples, 0.1)
    assert (np.sum(masses * (lower > truth), axis=1) <= 0.1).all()
    assert np.sum(masses * (lower * 1.1 > truth), axis=1).max() > 0.3


@pytest.mark.parametrize("samples", [1, 2, 3, 10, 101, 1000])
def test_a_majority_shows_what_is_likely_enough(samples) -> None:
    needed = float(majority_needed(samples, 0.01))
    assert 0.5 < needed <= 1
    assert stats.binom.cdf(samples // 2, samples, needed) <= 0.01 * (1 + 1e-8)
    assert stats.binom.cdf(samples // 2, samples, needed - 1e-3) > 0.01


@pytest.mark.parametrize("lower", [0.5 + 1e-9, 0.55, 0.75, 0.9, 0.999, 1 - 1e-9])
@pytest.mark.parametrize("needed", [0.5, 0.6])
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_radii_agree_with_40_digits_and_are_never_above(law, needed, lower) -> None:
    radius = float(law.majority_radius(lower, needed))
    if lower <= needed:
        assert radius == 0.0
        return
    with mp.workdps(40):
        if law.kind == "gaussian":
            phi = [mp.sqrt(2) * mp.erfinv(2 * mp.mpf(q) - 1) for q in (lower, needed)]
            assert radius < law.value * (phi[0] - phi[1])
            assert radius == pytest.approx(float(law.value * (phi[0] - phi[1])), rel=1e-7)
        else:
            spare = mp.mpf(lower) - mp.mpf(needed)
            assert exact.ball_moved(radius, law.dim, law.value) < spare
            assert exact.ball_moved(radius * (1 + 1e-6), law.dim, law.value) > spare * (1 - 1e-5)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_half_and_less_prove_nothing_and_radii_grow(law) -> None:
    assert (law.majority_radius([0.0, 0.3, 0.5]) == 0).all()
    radii = law.majority_radius(np.linspace(0.5, 0.9999, 300))
    assert (np.diff(radii) > 0).all()


def test_hot_cells_are_never_none_or_all() -> None:
    assert [hot_cells(k, 49) for k in (0.5, 0.3, 0.1)] == [25, 15, 5]
    for fraction in (0.1, 0.9):
        with pytest.raises(ArgumentError, match="expected a fraction that marks 1 to 1 of 2 cells"):
            hot_cells(fraction, 2)


# --- votes ---------------------------------------------------------------------------------------------------


def votes(hot, draws=100, alpha=1e-4, fractions=(0.5,)) -> Votes:
    return Votes(np.array(fractions), np.array(hot, float), np.zeros(np.shape(hot)), float(draws), alpha / 2, alpha / 2)


GOOD = votes([[100, 90, 10, 0]])


def test_sides_and_radii_of_votes() -> None:
    sides, lower = GOOD.winners(0.5)
    assert sides.tolist() == [1, 1, -1, -1]
    assert lower == pytest.approx(proportion_lower([100, 90, 90, 100], 100, 5e-5 / 8))
    _, radii = GOOD.radii(0.5, LAWS[0])
    assert radii == pytest.approx(LAWS[0].majority_radius(lower))
    _, sampled = GOOD.radii(0.5, LAWS[0], samples=500)
    assert (sampled < radii).all()
    assert (GOOD.radii(0.5, LAWS[0], samples=10**6)[1] > sampled).all()
    with pytest.raises(ArgumentError, match=r"one of the fractions that were counted \(0.5\), got 0.3"):
        GOOD.winners(0.3)


def test_an_even_vote_proves_nothing() -> None:
    assert (votes([[50, 50]]).radii(0.5, LAWS[0])[1] == 0).all()


def test_every_further_fraction_costs() -> None:
    two = votes([[100, 90, 10, 0], [90, 5, 5, 0]], fractions=(0.5, 0.25))
    assert (two.winners(0.5)[1] < GOOD.winners(0.5)[1]).all()


BASIS = Basis(limit=1.0, draws=100, alpha=1e-3)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        (votes([[100, 91, 10, 0]]), "do not add up"),
        (votes([[100, 90, 10, 0]], draws=101), "votes of 101 draws, not of 100"),
        (votes([[100, 90, 10, 0]], alpha=5e-4), "more than their share"),
        (votes([[100, 90, 10, 0]], fractions=(0.01,)), "marks 1 to 3 of 4 cells"),
    ],
)
def test_impossible_votes_are_found(changed, problem) -> None:
    assert GOOD.problems(BASIS) == []
    assert problem in changed.problems(BASIS)[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hot": [[101, 90, 10, 0]]}, "counts that are not whole numbers between 0 and 100"),
        ({"hot": [[99.5, 90, 10, 0]]}, "not whole numbers"),
        ({"hot": [100, 90, 10, 0]}, "one count per fraction and cell"),
        ({"draws": 0}, "not whole numbers between 0 and 0 draws"),
        ({"alpha": 2.0}, "alpha that is not in"),
        ({"attacked_alpha": 0.0}, "alpha that is not in"),
    ],
)
def test_votes_from_which_nothing_follows_are_refused(change, message) -> None:
    with pytest.raises(ValueError, match=message):
        Votes.from_json({**GOOD.to_json(), **change})


@pytest.mark.parametrize(
    "fact",
    [GOOD, Majority(7.0, 80.0, 90.0, 1e-5), ErrorBars.of(np.array([0.1, 0.2, 1 / 3]))],
    ids=lambda f: f.name,
)
def test_facts_are_stored_and_read(fact) -> None:
    again = FACTS[fact.name].from_json(fact.to_json())
    assert again == fact
    assert fact.problems(Basis(1.0, 100, 1e-3, 1)) == again.problems(Basis(1.0, 100, 1e-3, 1))


def test_different_votes_are_not_equal() -> None:
    assert votes([[100, 90, 0, 10]]) != GOOD
    assert Length(0.5, 0.6) != GOOD
    assert len({GOOD, votes([[100, 90, 0, 10]])}) == 2


# --- the class -----------------------------------------------------------------------------------------------


def test_the_class_and_its_radius() -> None:
    majority = Majority(7.0, 990.0, 1000.0, 6.25e-5)
    assert float(majority.lower) == pytest.approx(float(exact_lower(990, 1000, 6.25e-5)), rel=1e-9)
    assert float(majority.radius(LAWS[0])) == pytest.approx(0.5 * stats.norm.ppf(float(majority.lower)), rel=1e-8)
    assert float(Majority(7.0, 500.0, 1000.0, 6.25e-5).radius(LAWS[0])) == 0.0


@pytest.mark.parametrize(
    ("change", "problem"),
    [({"tested": 120.0}, "tested on 120 noisy inputs"), ({"alpha": 1e-3}, "more than its share 6.25e-05")],
)
def test_impossible_classes_are_found(change, problem) -> None:
    stored = {"winner": 7.0, "count": 80.0, "tested": 90.0, "alpha": 1e-5}
    assert Majority(**stored).problems(BASIS) == []
    assert problem in Majority(**{**stored, **change}).problems(BASIS)[0]


@pytest.mark.parametrize("change", [{"count": 91.0}, {"count": -1.0}, {"winner": 0.5}, {"tested": 0.0}, {"alpha": 0.0}])
def test_classes_from_which_nothing_follows_are_refused(change) -> None:
    stored = {"winner": 7.0, "count": 80.0, "tested": 90.0, "alpha": 1e-5}
    with pytest.raises(ValueError, match="majority h"):
        Majority.from_json({**stored, **change})


def test_facts_about_cells_are_not_stacked_but_the_class_is() -> None:
    facts = (Length(0.5, 0.6), Spread(0.1), Closeness(0.1, 1e-5), Majority(7.0, 80.0, 90.0, 1e-5))
    with_cells = Evidence.of(LAWS[0], 1.0, *facts, GOOD)
    without = Evidence.of(LAWS[0], 1.0, *facts)
    both = Evidence.stack([with_cells, without])
    assert Votes not in both.facts
    assert both.fact(Majority).radius(LAWS[0]).shape == (2, 1)
    assert both.cosine(np.array([0.1, 0.2])).shape == (2, 2)


def test_shares_of_alpha_leave_a_tenth_in_reserve() -> None:
    assert sum(SHARES.values()) == pytest.approx(0.9, abs=1e-15)
    assert min(SHARES.values()) > 0


def test_the_theory_states_the_shares() -> None:
    text = (Path(__file__).parents[2] / "docs" / "theory" / "cells.md").read_text()
    stated = re.findall(r"^\| ([a-z ]+) \| (\d/\d+) \|", text, re.MULTILINE)
    assert {name.replace(" ", "_"): float(Fraction(share)) for name, share in stated} == dict(SHARES)


# --- error bars ----------------------------------------------------------------------------------------------


def test_error_bars_are_rounded_up_and_never_smaller_than_draws_can_prove() -> None:
    half = np.array([0.3, 1 / 3, 1e-8])
    assert (ErrorBars.of(half).half >= half).all()
    assert ErrorBars.of(half).half == pytest.approx(half, rel=1e-6)
    least = math.log(6 / 1e-3) / (0.95 * 100)
    assert ErrorBars.of(np.full(3, least)).problems(BASIS) == []
    assert "smaller than 100 draws can prove" in ErrorBars.of(np.array([1.0, 1.0, 0.9 * least])).problems(BASIS)[0]


@pytest.mark.parametrize("half", ["!!", "AAAA", 0.5, "AADAfwAAwH8="])
def test_bad_error_bars_are_refused(half) -> None:
    with pytest.raises(ValueError, match=r"error_bars"):
        ErrorBars.from_json({"half": half})


# --- top-k with error bars -----------------------------------------------------------------------------------


def smallest_overlap(values, error, k, radius):
    """All swaps, by enumeration, of what can be least inside and most outside."""
    order = np.argsort(-values, kind="stable")
    shifted = values.copy()
    shifted[order[:k]] -= error[order[:k]]
    shifted[order[k:]] += error[order[k:]]
    worst = k
    for j in range(1, min(k, len(values) - k) + 1):
        inside, outside = np.sort(shifted[order[:k]])[:j], np.sort(shifted[order[k:]])[::-1][:j]
        worst = k - j if brute.swap_cost(inside, outside)[0] <= radius**2 else worst
    return worst


def test_top_k_with_error_bars_agrees_with_enumeration() -> None:
    rng = np.random.default_rng(5)
    seen = set()
    for _ in range(300):
        size = int(rng.integers(3, 9))
        values, error = rng.normal(size=size), rng.uniform(0, 0.5, size) * rng.integers(0, 2, size)
        k, radius = int(rng.integers(1, size)), float(rng.uniform(0, 1.0))
        given = top_k_overlap(values, k, radius, error)
        assert given == smallest_overlap(values, error, k, radius)
        seen.add(k - given)
    assert len(seen) > 3


def test_no_map_within_error_bars_and_radius_loses_more() -> None:
    rng = np.random.default_rng(6)
    for _ in range(2000):
        values, error = rng.normal(size=8), rng.uniform(0, 0.3, 8)
        radius, k = 0.3, 4
        step = rng.normal(size=8)
        attacked = values + error * rng.choice([-1, 1], 8) + radius * step / np.linalg.norm(step)
        assert brute.overlap_after(values, attacked, k) >= top_k_overlap(values, k, radius, error)


def test_without_error_and_displacement_the_top_is_settled() -> None:
    values = np.array([3.0, 2.0, 1.0])
    assert top_k_overlap(values, 2, 0.0) == 2
    assert top_k_overlap(values, 2, 0.0, 0.5) == 1
    assert top_k_overlap(values, 2, 0.0, 0.499) == 2
    with pytest.raises(ArgumentError, match="expected `error` >= 0"):
        top_k_overlap(values, 2, 0.0, -0.1)
