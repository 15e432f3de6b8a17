"""Facts: stored and read back, stacked, and refused where no draws could have proved them."""

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attribound.bounds import FACTS, Closeness, Length, ProbabilityGradient, Spread, confidence
from attribound.bounds.facts import Basis

relaxed = settings(deadline=None, database=None, derandomize=True, max_examples=60)
BASIS = Basis(limit=1.0, draws=1000, alpha=1e-3)
EVERY = [Length(0.8, 0.85), Spread(0.1), Closeness(0.05, 3e-5), ProbabilityGradient()]


def test_every_fact_is_known_by_its_name():
    assert {type(fact) for fact in EVERY} <= set(FACTS.values())
    assert all(FACTS[kind.name] is kind for kind in FACTS.values())


@pytest.mark.parametrize("fact", EVERY, ids=lambda fact: fact.name)
def test_stored_and_read_back(fact):
    assert type(fact).from_json(fact.to_json()) == fact


@pytest.mark.parametrize("fact", EVERY, ids=lambda fact: fact.name)
def test_stacked(fact):
    both = type(fact).stack([fact, fact, fact])
    for field in dataclasses.fields(fact):
        np.testing.assert_array_equal(getattr(both, field.name), np.full((3, 1), getattr(fact, field.name)))


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ({}, "length has nothing, expected lower, sampled"),
        ({"lower": 0.5}, "length has lower, expected lower, sampled"),
        ({"lower": 0.5, "sampled": 0.6, "more": 1}, "length has lower, sampled, more, expected lower, sampled"),
        ({"lower": "0.5", "sampled": 0.6}, "length.lower is not a finite number"),
        ({"lower": True, "sampled": 0.6}, "length.lower is not a finite number"),
        ({"lower": float("nan"), "sampled": 0.6}, "length.lower is not a finite number"),
        ({"lower": 0.5, "sampled": float("inf")}, "length.sampled is not a finite number"),
        ({"lower": None, "sampled": 0.6}, "length.lower is not a finite number"),
        ({"lower": [0.5, 0.9], "sampled": 0.6}, "length.lower is not a finite number"),
        ({"lower": [], "sampled": 0.6}, "length.lower is not a finite number"),
        ({"lower": {"a": 1}, "sampled": 0.6}, "length.lower is not a finite number"),
    ],
)
def test_other_stored_values_are_refused(stored, message):
    with pytest.raises(ValueError, match=message):
        Length.from_json(stored)


@pytest.mark.parametrize("fact", EVERY, ids=lambda fact: fact.name)
def test_what_draws_can_prove_is_not_called_impossible(fact):
    assert fact.problems(BASIS) == []


@pytest.mark.parametrize(
    ("fact", "problem"),
    [
        (Length(0.999, 0.9995), r"norm_lower 0.999 is not in \[0, 0.985"),
        (Length(-0.1, 0.9), r"norm_lower -0.1 is not in \[0, 0.985"),
        (Length(0.5, 1.1), r"norm 1.1 is not in \[0, limit 1\]"),
        (Length(0.5, -1.0), r"norm -1 is not in \[0, limit 1\]"),
        (Spread(0.001), r"eigenvalue_upper 0.001 is smaller than 1000 draws can prove \(0.0068"),
        (Spread(-1.0), "eigenvalue_upper -1 is smaller than"),
        (Closeness(0.001, 3e-5), r"map_radius 0.001 is smaller than 1000 draws can prove"),
        (Closeness(0.05, 0.0), r"attacked_alpha 0 is not in \(0, 3.125e-05\]"),
        (Closeness(0.05, 9e-4), r"attacked_alpha 0.0009 is not in \(0, 3.125e-05\], its share of alpha"),
    ],
    ids=str,
)
def test_what_no_draws_can_prove_is_named(fact, problem):
    (line,) = fact.problems(BASIS)
    assert re.search(problem, line)


@relaxed
@given(st.integers(2, 5000), st.floats(1e-9, 0.5), st.floats(0.01, 100))
def test_constant_draws_prove_the_most_that_is_possible(draws, alpha, limit):
    """The largest norm and the smallest eigenvalue that any draws give: from above and below, and close."""
    basis = Basis(limit, draws, alpha)
    best = confidence.norm_lower_bound(np.full(draws, limit), limit=limit, alpha=alpha)
    assert best <= confidence.largest_norm_lower(draws, limit=limit, alpha=alpha) * (1 + 1e-9) + 1e-12
    assert Length(best, limit).problems(basis) == []
    for reach, near in ((limit, None), (2 * limit, None), (2 * limit, 1e-9 * limit)):
        least = confidence.eigenvalue_upper_bound(0.0, reach=reach, samples=draws, alpha=alpha, near=near)
        assert least >= confidence.smallest_eigenvalue_upper(draws, limit=limit, alpha=alpha) * (1 - 1e-9)
        assert Spread(least).problems(basis) == []
    radius = confidence.mean_radius(
        limit=limit, norm_lower=best, samples=draws, alpha=alpha / 32, eigenvalue_upper=least
    )
    assert Closeness(radius, alpha / 32).problems(basis) == []


def test_fewer_draws_prove_less():
    """Sixteen draws cannot have an eigenvalue that a thousand would have."""
    few = dataclasses.replace(BASIS, draws=16)
    assert Spread(0.1).problems(BASIS) == []
    assert Spread(0.1).problems(few) == ["eigenvalue_upper 0.1 is smaller than 16 draws can prove (0.350618)"]
    assert Length(0.5, 0.8).problems(few) == ["norm_lower 0.5 is not in [0, 0.275231]"]


def test_a_mean_over_a_block_varies_less_than_the_field():
    """The eigenvalue of the field is `block` times that of the block means, so it is proved `block` times worse."""
    block = dataclasses.replace(BASIS, block=4)
    assert Spread(0.02).problems(BASIS) == []
    assert Spread(0.02).problems(block) != []
