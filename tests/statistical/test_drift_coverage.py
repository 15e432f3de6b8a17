"""Coverage of the cosine of two maps, on fields whose smoothed maps are known exactly, at alpha 0.1 for each map."""

import numpy as np
import torch
from scipy import stats

from attribound.bounds import Closeness, Length
from attribound.bounds.drift import cosine_interval
from attribound.fields import Unit
from attribound.noise import Gaussian
from tests.problems import HalfSpaces
from tests.sampling.running import basic_statistics, run

ALPHA, SIGMA, PAIRS = 0.1, 0.5, 4
DIRECTIONS = torch.eye(PAIRS, dtype=torch.float64)
THRESHOLDS = ([0.3, 0.2, 0.4, 0.1], [0.3, 0.25, 0.1, 0.3])


def exact(thresholds: list[float]) -> np.ndarray:
    means = 2 * stats.norm.cdf(np.array(thresholds) / SIGMA) - 1
    return np.repeat(means, 2) * np.tile([1.0, -1.0], PAIRS) / np.sqrt(2 * PAIRS)


def cosine(first: np.ndarray, second: np.ndarray) -> float:
    return float(first @ second / (np.linalg.norm(first) * np.linalg.norm(second)))


def test_intervals_from_real_draws_hold() -> None:
    """Both maps from the same seed, so from the same noise. More than 0.2 + 4.5 standard errors: chance 4e-6."""
    fields = [Unit(HalfSpaces(DIRECTIONS, torch.tensor(one, dtype=torch.float64))) for one in THRESHOLDS]
    truth, runs = cosine(*map(exact, THRESHOLDS)), 40
    misses, widths, x = 0, [], torch.zeros(PAIRS, dtype=torch.float64)
    for seed in range(runs):
        found = [
            run(
                field,
                x,
                Gaussian(SIGMA),
                600,
                alpha=ALPHA,
                seed=seed,
                shape=(2 * PAIRS,),
                statistics=basic_statistics(),
            )
            for field in fields
        ]
        least, most = cosine_interval(
            *(one.map.numpy() for one in found),
            radii=tuple(float(one.evidence.fact(Closeness).radius) for one in found),
            lowers=tuple(float(one.evidence.fact(Length).lower) for one in found),
        )
        misses += not least <= truth <= most
        widths.append(most - least)
    assert misses / runs <= 2 * ALPHA + 4.5 * (0.16 / runs) ** 0.5
    assert np.median(widths) < 1.2, "an interval that says nothing is no interval"


def test_radii_that_are_too_small_would_be_noticed() -> None:
    """With radii that hold with probability exactly 0.9, it misses rarely; with a sixth of them, often.

    Noise in eight dimensions turns a map in one of them only, so the ball leaves room: half the radii still miss 1 %.
    """
    generator, runs = np.random.default_rng(0), 3000
    maps = [exact(one) for one in THRESHOLDS]
    truth, noise = cosine(*maps), 0.02
    radius = noise * stats.chi(2 * PAIRS).ppf(1 - ALPHA)

    def missed(size: float) -> float:
        count = 0
        for _ in range(runs):
            sampled = [one + noise * generator.normal(size=one.size) for one in maps]
            least, most = cosine_interval(*sampled, radii=(size, size))
            count += not least <= truth <= most
        return count / runs

    assert missed(radius) <= 2 * ALPHA
    assert missed(radius / 6) > 2 * ALPHA
