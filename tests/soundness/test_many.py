"""Exact cases by the ten thousand: shifts whose effect is known, judged many at once by stacked evidence."""

import math
import os
from collections.abc import Iterator

import numpy as np

from attribound.bounds import Ball, Evidence, Law, Length, Normal, Spread, cosine_bound_paper
from attribound.bounds.facts import Fact
from tests.problems import AbsFirst
from tests.soundness.profiles import Cases

SIZE = int(os.environ.get("ATTRIBOUND_SOUNDNESS", "1"))
"""How many times as many cases."""

Array = np.ndarray


def ball_regions(laws: int, each: int, seed: int) -> Iterator[Cases]:
    """Fields constant on what leaves, stays and arrives when a ball is shifted: everything is known exactly."""
    rng = np.random.default_rng(seed)
    for _ in range(laws):
        law = Ball(int(rng.choice([2, 10, 784, 3072])), float(rng.uniform(0.5, 5)))
        epsilon = law.value * rng.uniform(0.01, 1.2, each) / math.sqrt(law.dim)
        p = law.moved_fraction(epsilon)[:, None]
        leaving, staying = (_vectors(rng, np.where(rng.random(each) < 0.5, 1.0, rng.uniform(0, 1, each))) for _ in "12")
        # The worst arrival turns the map away as far as possible; random ones are tried too.
        arriving = np.where(rng.random((each, 1)) < 0.5, -leaving, _vectors(rng, np.ones(each)))
        before, after = p * leaving + (1 - p) * staying, (1 - p) * staying + p * arriving
        spread = p[:, 0] * (1 - p[:, 0]) * ((leaving - staying) ** 2).sum(axis=1)
        yield Cases(_evidence(law, np.linalg.norm(before, axis=1), spread), epsilon[:, None], _cosines(before, after))


def sign_fields(laws: int, each: int, seed: int) -> Iterator[Cases]:
    """The saliency of |y_1| under Gaussian noise: the map turns over as soon as the shift crosses zero."""
    rng = np.random.default_rng(seed)
    for _ in range(laws):
        law = Normal(2, float(rng.uniform(0.1, 2)))
        first = rng.exponential(0.5, each)
        epsilon = first * rng.uniform(0.5, 3, each)
        norm = np.array([AbsFirst.smoothed_gaussian(one, law.value) for one in first])
        truth = np.where(epsilon < first, 1.0, -1.0)
        yield Cases(_evidence(law, norm, 1 - norm**2), epsilon[:, None], truth)


def _evidence(law: Law, norm: Array, spread: Array) -> Evidence:
    facts: dict[type[Fact], Fact] = {Length: Length(norm[:, None], norm[:, None]), Spread: Spread(spread[:, None])}
    return Evidence(law, np.ones((len(norm), 1)), facts)


def _vectors(rng: np.random.Generator, lengths: Array) -> Array:
    angles = rng.uniform(0, 2 * math.pi, len(lengths))
    return lengths[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _cosines(a: Array, b: Array) -> Array:
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return np.where(norms > 1e-12, (a * b).sum(axis=1) / np.maximum(norms, 1e-300), 1.0)


EXACT = [*ball_regions(20 * SIZE, 250, seed=1), *sign_fields(10 * SIZE, 100, seed=2)]


def broken(scale: float = 1.0) -> int:
    """(case, rule) pairs whose bound, at `scale` times the shift, lies above the true cosine."""
    return sum(
        int((values[:, 0] > cases.truth + 1e-9).sum())
        for cases in EXACT
        for values in cases.evidence.cosines(scale * cases.epsilon).values()
    )


def test_no_exact_case_beats_a_rule() -> None:
    assert sum(len(cases.truth) for cases in EXACT) == 6_000 * SIZE
    assert broken() == 0
    best = [cases.evidence.cosine(cases.epsilon)[:, 0] for cases in EXACT]
    assert sum(int((values > 0.3).sum()) for values in best) > 500 * SIZE, "vacuous bounds prove nothing"


def test_half_the_shift_and_the_papers_formula_are_caught() -> None:
    assert broken(0.5) > 20 * SIZE
    wrong = 0
    for cases in EXACT:
        moved = cases.evidence.moved_fraction(cases.epsilon)
        stated = cosine_bound_paper(cases.evidence.norm_lower, cases.evidence.limit, moved)
        wrong += int((np.asarray(stated)[:, 0] > cases.truth + 1e-9).sum())
    assert wrong > 100 * SIZE
