"""Cases whose true cosine is known: what a certificate says about them may never be more."""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch

from attribound.bounds import Ball, Evidence, Law, Length, Normal, Spread
from attribound.bounds.facts import Fact
from attribound.sampling import Draws, Setting, default_statistics
from tests.problems import AbsFirst

Array = np.ndarray


class Cases(NamedTuple):
    """Evidence (n, 1) or about one map, sizes of the change, and the true cosine (or the least there is up to them)."""

    evidence: Evidence
    epsilon: Array
    truth: Array


def ball_regions(laws: int, each: int, seed: int) -> Iterator[Cases]:
    """Fields constant on what leaves, stays and arrives when a ball is shifted: everything is known exactly."""
    rng = np.random.default_rng(seed)
    for _ in range(laws):
        law = Ball(int(rng.choice([2, 10, 784, 3072])), float(rng.uniform(0.5, 5)))
        epsilon = law.scale * rng.uniform(0.01, 1.2, each) / math.sqrt(law.dim)
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
        norm = np.array([AbsFirst.smoothed_gaussian(one, law.scale) for one in first])
        truth = np.where(epsilon < first, 1.0, -1.0)
        yield Cases(_evidence(law, norm, 1 - norm**2), epsilon[:, None], truth)


def profiles(rng: np.random.Generator) -> dict[str, Callable[[Array], Array]]:
    """Maps (n, 3) that depend on the noise in one direction only: their averages are integrals over one number."""
    turn, place, rare = rng.uniform(0.05, 1.2), rng.uniform(-1, 3), rng.uniform(1.5, 3.5)
    width, length = rng.uniform(0.1, 1.0), rng.uniform(0.2, 1.0)
    return {
        "rotation": lambda z: _along(turn * z, np.ones_like(z)),
        "step": lambda z: _along(np.where(z > place, turn, -turn), np.ones_like(z)),
        "flip": lambda z: _along(np.where(z > rare, math.pi, 0.0), np.ones_like(z)),
        "bend": lambda z: _along(math.pi * np.tanh((z - place) / width) / 3, np.where(z > place, 1.0, length)),
        "rare side": lambda z: _along(np.where(z > rare, math.pi / 2, 0.02 * z), np.ones_like(z)),
    }


def sampled_profiles(count: int, seed: int, alpha: float = 1e-6) -> Iterator[Cases]:
    """Certificates from real draws with every statistic on, against the least cosine of all shifts up to each size.

    Each is false with probability at most alpha: 1e-6 makes a false alarm of the whole suite unlikelier than 1e-3.
    """
    rng = np.random.default_rng(seed)
    shifts = np.linspace(0.05, 4.0, 80)
    for number in range(count):
        name, profile = list(profiles(rng).items())[number % 5]
        law = Normal(2, float(rng.uniform(0.2, 3)))
        draws = int(rng.choice([64, 512, 2048]))
        evidence = _certified(law, profile, draws, alpha, rng)
        yield Cases(evidence, shifts * law.scale, _least_cosines(profile, shifts))
        assert name


def _certified(
    law: Law, profile: Callable[[Array], Array], draws: int, alpha: float, rng: np.random.Generator
) -> Evidence:
    statistics = default_statistics(cosines=(0.5, 0.8, 0.9, 0.99))[:4]
    setting = Setting(3, 1.0, draws, law, 1, alpha)
    size = max(draws // 16, 4)
    for start in range(0, draws, size):
        chunk = Draws(torch.from_numpy(profile(rng.standard_normal(min(size, draws - start)))))
        for one in statistics:
            one.start(chunk, setting) if start == 0 else one.add(chunk)
    facts: dict[type[Fact], Fact] = {}
    for one in statistics:
        if (fact := one.prove(one.share * alpha, facts)) is not None:
            facts[type(fact)] = fact
    return Evidence(law, 1.0, facts)


def _least_cosines(profile: Callable[[Array], Array], shifts: Array) -> Array:
    """The smallest cosine of all shifts up to each, in either direction, by quadrature over the noise."""
    z = np.linspace(-9, 9, 9001)
    weights = np.exp(-(z**2) / 2)
    weights /= weights.sum()
    before = weights @ profile(z)
    fine = np.linspace(0, shifts[-1], 4 * len(shifts) + 1)
    cosines = np.array([min(_cosine(before, weights @ profile(z + side * mu)) for side in (-1, 1)) for mu in fine])
    least = np.minimum.accumulate(cosines)
    return least[np.searchsorted(fine, shifts - 1e-12)]


def _along(angle: Array, length: Array) -> Array:
    return np.stack([length * np.cos(angle), length * np.sin(angle), np.zeros_like(angle)], axis=1)


def _evidence(law: Law, norm: Array, spread: Array) -> Evidence:
    facts: dict[type[Fact], Fact] = {Length: Length(norm[:, None], norm[:, None]), Spread: Spread(spread[:, None])}
    return Evidence(law, np.ones((len(norm), 1)), facts)


def _vectors(rng: np.random.Generator, lengths: Array) -> Array:
    angles = rng.uniform(0, 2 * math.pi, len(lengths))
    return lengths[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _cosine(a: Array, b: Array) -> float:
    norms = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b / norms) if norms > 1e-12 else 1.0


def _cosines(a: Array, b: Array) -> Array:
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return np.where(norms > 1e-12, (a * b).sum(axis=1) / np.maximum(norms, 1e-300), 1.0)
