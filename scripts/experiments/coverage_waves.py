"""The gradient of a probability, as the curvature rule takes it, for `measure_coverage.py`; and all fields by name."""

import math
from collections.abc import Callable

import numpy as np
import torch
from coverage_fields import Array, Known, Truth, World, half_spaces, known_of, pieces, turning, world
from scipy import special
from torch import Tensor

import attribound as ab


class Waves(torch.nn.Module):
    """Probability 1/2 + (sin a y_1 + sin b y_2) / 4 of class 0, y in units."""

    def __init__(self, frequencies: Array, units: Array) -> None:
        super().__init__()
        self.counted = torch.from_numpy(frequencies / units)

    def forward(self, inputs: Tensor) -> Tensor:
        """Logarithms of the probabilities."""
        p = 0.5 + torch.sin(self.counted * inputs.double()).mean(1) / 2
        return torch.stack([p, 1 - p], 1).log()


def waves(rng: np.random.Generator, place: World) -> Known:
    """The gradient of a probability in two features: the field of the curvature rule, limit proved."""
    a = np.array([rng.uniform(0.1, 0.7), rng.uniform(0.75, 1.2)]) / place.law.sigma
    model, at = Waves(a, place.units), place.x.double().numpy() / place.units
    steep = a / place.units
    field = ab.Proved(
        ab.Saliency(model, "probability", continuous=True), float(np.linalg.norm(steep)) / 4, reason="cosines are <= 1"
    )
    shifts, stride, order = place.plane(), 5, np.argsort(steep)
    means = np.array([place.wave(one) for one in a])
    here = at + shifts
    hot, up = np.array([_wave_events(place, a[order], steep[order], one[order]) for one in here[::stride]]).T
    hot = hot if order[0] == 0 else 1 - hot
    truth = Truth(
        shifts,
        steep / 4 * np.cos(a * here) * means,
        {0.5: np.stack([hot, 1 - hot], 1)},
        {0.5: np.stack([1 - hot, hot], 1)},
        np.stack([up, 1 - up], 1),
        stride=stride,
    )
    return known_of(place, field, truth)


def _wave_events(place: World, a: Array, steep: Array, here: Array) -> tuple[float, float]:
    """How likely the first cell is the larger one, and class 0: given the first number, intervals of the second.

    The first cell is the one that varies less, so that every level is reached and the integrand is smooth.
    """
    first, weights, second = _conditional(place)
    turns = 2 * math.pi * np.arange(-40, 41)
    level = np.clip(steep[0] * np.cos(a[0] * (here[0] + first)) / steep[1], -1, 1)
    lows, highs = np.arccos(level), 2 * math.pi - np.arccos(level)
    hot = _between(second, (lows, highs), turns, a[1], here[1])
    rise = np.arcsin(np.clip(-np.sin(a[0] * (here[0] + first)), -1, 1))
    up = _between(second, (rise, math.pi - rise), turns, a[1], here[1])
    return float(weights @ hot), float(weights @ up)


def _conditional(place: World) -> tuple[Array, Array, Callable[[Array], Array]]:
    """Places and weights of the first number of the noise, and the distribution of the second given it."""
    middles = (np.arange(1500) + 0.5) / 1500
    if place.law.kind == "gaussian":
        first = (middles - 0.5) * 16 * place.law.sigma
        weights = np.exp(-((first / place.law.sigma) ** 2) / 2)
        return first, weights / weights.sum(), lambda z: special.ndtr(z / place.law.sigma)
    angle = (middles - 0.5) * math.pi
    first, wide = place.law.radius * np.sin(angle), place.law.radius * np.cos(angle)
    weights = np.cos(angle) ** 2
    return first, weights / weights.sum(), lambda z: np.clip((z / wide + 1) / 2, 0, 1)


def _between(second: Callable[[Array], Array], ends: tuple[Array, Array], turns: Array, a: float, here: float) -> Array:
    """Probability that a (here + second number) lies between two angles, up to whole turns."""
    reach = [turn for turn in turns if abs((turn + math.pi) / a - here) < 12 / a + 9 / a]
    total = np.zeros_like(ends[0])
    for turn in reach:
        total += second((ends[1] + turn) / a - here) - second((ends[0] + turn) / a - here)
    return total


def known_fields() -> dict[str, Callable[[np.random.Generator, str, bool], Known]]:
    """Every kind of field, by name."""
    return {
        "linear": lambda rng, kind, units: pieces(rng, world(rng, kind, units=units), 1),
        "sign": lambda rng, kind, units: pieces(rng, world(rng, kind, units=units), 2),
        "steps": lambda rng, kind, units: pieces(rng, world(rng, kind, units=units), int(rng.integers(3, 7))),
        "turning": lambda rng, kind, units: turning(rng, world(rng, kind, units=units)),
        "half-spaces": lambda rng, kind, units: half_spaces(rng, world(rng, kind, units=units)),
        "waves": lambda rng, kind, units: waves(rng, world(rng, kind, units=units, dim=2)),
    }
