"""Shifts whose effect is known exactly: what is known before them, and the true cosine and displacement after."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr
from scipy.stats import norm as normal

from attribound.bounds import Ball, Evidence, Normal
from tests.bounds.known import knowing
from tests.problems import AbsFirst
from tests.reference import cells


class Case(NamedTuple):
    """A shift, what is known before it, and the true cosine (or, for sampled maps, the most it can be) after it."""

    evidence: Evidence
    epsilon: float
    cosine: float
    displacement: float = 0.0


def region_cases(count: int, seed: int) -> Iterator[Case]:
    """Fields constant on what leaves, stays and arrives when a ball is shifted."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        dim, radius = int(rng.choice([2, 10, 784, 3072])), float(rng.uniform(0.5, 5))
        law, epsilon = Ball(dim, radius), radius * float(rng.uniform(0.01, 1.2)) / math.sqrt(dim)
        p = float(law.moved_fraction(epsilon))
        leaving, staying = (_vector(rng, rng.choice([1.0, rng.uniform(0, 1)])) for _ in range(2))
        # The worst arrival turns the map away as far as possible; random ones are tried too.
        arriving = -leaving if rng.random() < 0.5 else _vector(rng, 1.0)
        before, after = p * leaving + (1 - p) * staying, (1 - p) * staying + p * arriving
        spread = p * (1 - p) * float(((leaving - staying) ** 2).sum())
        evidence = knowing(law, 1.0, float(np.linalg.norm(before)), spread)
        yield Case(evidence, epsilon, _cosine(before, after), float(np.linalg.norm(after - before)))


def sign_cases(count: int, seed: int) -> Iterator[Case]:
    """The saliency of |y_1| under Gaussian noise: the map turns over as soon as the shift crosses zero."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        sigma, first = float(rng.uniform(0.1, 2)), float(rng.exponential(0.5))
        epsilon = first * float(rng.uniform(0.5, 3))
        before, after = (AbsFirst.smoothed_gaussian(place, sigma) for place in (first, first - epsilon))
        evidence = knowing(Normal(2, sigma), 1.0, before, 1 - before**2)
        yield Case(evidence, epsilon, 1.0 if epsilon < first else -1.0, abs(after - before))


def step_cases(count: int, seed: int) -> Iterator[Case]:
    """Step functions of one Gaussian coordinate: random ones, and the worst for the covariance rule."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        shift = float(rng.uniform(0.05, 2.5))
        if number % 50 == 0:
            field = cells.extremal_field(rng.uniform(0.05, 0.95), shift, shift + rng.uniform(-0.5, 4), cells=401)
        else:
            field = cells.random_field(rng)
        if min(np.linalg.norm(field.mean()), np.linalg.norm(field.mean(shift))) < 1e-9:
            continue
        sigma = float(rng.uniform(0.1, 3))
        evidence = knowing(Normal(5, sigma), field.limit, min(field.norm, field.limit), field.eigenvalue)
        yield Case(evidence, shift * sigma, field.cosine(shift), field.displacement(shift))


class _Steps:
    """A step function of one coordinate with values 0 and 1, smoothed with sigma: value and slope are exact."""

    def __init__(self, rng: np.random.Generator, sigma: float) -> None:
        self.edges = np.sort(rng.normal(0, 2 * sigma, rng.integers(1, 5)))
        self.values = rng.integers(0, 2, self.edges.size + 1).astype(float)
        self.values[0] = 1 - self.values[-1]
        self.sigma = sigma

    def value(self, x: float) -> float:
        return float(self.values[0] + np.diff(self.values) @ ndtr((x - self.edges) / self.sigma))

    def slope(self, x: float) -> float:
        return float(np.diff(self.values) @ normal.pdf((x - self.edges) / self.sigma) / self.sigma)


def gradient_cases(count: int, seed: int) -> Iterator[Case]:
    """Gradients of smoothed outputs in [0, 1], products of steps, under the curvature rule (no limit is known)."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        sigma = float(rng.uniform(0.2, 2))
        f, g = _Steps(rng, sigma), _Steps(rng, sigma)
        x, delta = rng.normal(0, sigma, 2), rng.normal(size=2)
        epsilon = sigma * float(rng.exponential(0.3))
        after = x + delta * epsilon / np.linalg.norm(delta)
        maps = [np.array([f.slope(a) * g.value(b), f.value(a) * g.slope(b)]) for a, b in (x, after)]
        if min(np.linalg.norm(one) for one in maps) < 1e-9:
            continue
        evidence = knowing(Normal(2, sigma), 1e6, float(np.linalg.norm(maps[0])), 1e12, gradient=True)
        yield Case(evidence, epsilon, _cosine(*maps), float(np.linalg.norm(maps[1] - maps[0])))


def _vector(rng: np.random.Generator, length: float) -> np.ndarray:
    angle = rng.uniform(0, 2 * math.pi)
    return length * np.array([math.cos(angle), math.sin(angle)])


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    norms = np.linalg.norm(a) * np.linalg.norm(b)
    return float(a @ b / norms) if norms > 1e-12 else 1.0
