"""Maps of one noise coordinate: their averages are integrals, so what a certificate says can be checked exactly."""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch

from attribound.bounds import Evidence, Law, Normal
from attribound.bounds.facts import Fact
from attribound.sampling import Draws, Setting
from tests.sampling.running import default_statistics

Array = np.ndarray
_STEPS = 7
"""Of the quadrature between two shifts: about 560 to each deviation of the noise."""


class Cases(NamedTuple):
    """Evidence about one map, sizes of the change, and the least true cosine of all changes up to each."""

    evidence: Evidence
    epsilon: Array
    truth: Array


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
        profile = list(profiles(rng).values())[number % 5]
        law = Normal(2, float(rng.uniform(0.2, 3)))
        draws = int(rng.choice([64, 512, 2048]))
        evidence = _certified(law, profile, draws, alpha, rng)
        yield Cases(evidence, shifts * law.value, _least_cosines(profile, shifts))


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
    """The smallest cosine of all shifts up to each, in either direction, by quadrature over the noise.

    Every shift is a whole number of the quadrature's steps, so the map is asked once for all of them.
    """
    fine = np.linspace(0, shifts[-1], 4 * len(shifts) + 1)
    step, farthest = fine[1] / _STEPS, _STEPS * (len(fine) - 1)
    reach = round(9 / step)
    weights = np.exp(-((step * np.arange(-reach, reach + 1)) ** 2) / 2)
    weights /= weights.sum()
    values = profile(step * np.arange(-reach - farthest, reach + farthest + 1))
    means = [weights @ values[start : start + len(weights)] for start in range(0, 2 * farthest + 1, _STEPS)]
    before = means[len(fine) - 1]
    cosines = np.array([_cosine(before, mean) for mean in means])
    least = np.minimum.accumulate(np.minimum(cosines[len(fine) - 1 :], cosines[len(fine) - 1 :: -1]))
    return least[np.searchsorted(fine, shifts - 1e-12)]


def _along(angle: Array, length: Array) -> Array:
    return np.stack([length * np.cos(angle), length * np.sin(angle), np.zeros_like(angle)], axis=1)


def _cosine(a: Array, b: Array) -> float:
    norms = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b / norms) if norms > 1e-12 else 1.0
