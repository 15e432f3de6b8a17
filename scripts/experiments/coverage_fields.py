"""Fields whose smoothed maps, votes and class probabilities are known at every shift, for `measure_coverage.py`.

All depend on one or two coordinates z of the noisy input in units, z = <u, (y - x) / units>. What a shift in these
coordinates does is a closed form or an integral over one number, good to 1e-6; other shifts do nothing.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from scipy import special
from torch import Tensor

import attribound as ab
from attribound.bounds import Ball, Law
from attribound.bounds.budgets import Budget
from attribound.fields.base import Explanation, Field
from attribound.fields.bounded import Bounded
from attribound.noise import Noise, NoiseOf

Array = np.ndarray
CELLS = 4
_FARTHEST = 4.0
"""Shifts up to so many standard deviations are searched."""


@dataclass(frozen=True)
class Truth:
    """What is true at every shift of a grid, the first of which is no shift.

    Attributes:
        shifts: (N, 2) in unit coordinates.
        maps: (N, m) exact smoothed maps.
        hot: per fraction, (N / stride, m) probability that a cell is hot in a noisy map.
        cold: per fraction, that it is cold.
        classes: (N / stride, K) probabilities of the classes.
        stride: votes and classes are known at every so many shifts only (they cost an integral each).
        eigenvalue: the largest of the map's covariance without a shift; None: not known exactly.
    """

    shifts: Array
    maps: Array
    hot: dict[float, Array]
    cold: dict[float, Array]
    classes: Array
    eigenvalue: float | None = None
    stride: int = 1

    @property
    def sizes(self) -> Array:
        """(N,) of the shifts."""
        return np.linalg.norm(self.shifts, axis=1)


@dataclass(frozen=True)
class Known:
    """A field, an input and noise, with what is true of them; `directions` (D, 2) turn shifts into inputs."""

    field: Bounded
    x: Tensor
    noise: Noise
    truth: Truth
    units: Array
    directions: Array

    def moved(self, shift: Array) -> Tensor:
        """The input after a shift."""
        step = self.units * (self.directions @ shift)
        return (self.x.double() + torch.from_numpy(step)).to(self.x.dtype)


@dataclass(frozen=True)
class World:
    """Noise on one input: law in unit coordinates, units (0: a feature that does not move), directions."""

    law: Law
    noise: Noise
    units: Array
    x: Tensor
    directions: Array

    def cumulative(self, z: Array) -> Array:
        """Distribution of one coordinate of the noise."""
        z = np.asarray(z, float)
        if self.law.kind == "gaussian":
            return special.ndtr(z / self.law.sigma)
        ratio = np.clip(z / self.law.radius, -1, 1)
        return (1 + np.sign(ratio) * special.betainc(0.5, (self.law.dim + 1) / 2, ratio**2)) / 2

    def wave(self, frequency: float) -> float:
        """The mean of cos(frequency * coordinate of the noise)."""
        if self.law.kind == "gaussian":
            return math.exp(-((frequency * self.law.sigma) ** 2) / 2)
        half, turned = self.law.dim / 2, frequency * self.law.radius
        return float(special.gamma(half + 1) * (2 / turned) ** half * special.jv(half, turned))

    def coordinates(self, inputs: Tensor) -> Tensor:
        """(B, 2) z of noisy inputs; features that do not move count, so that noise on them would be noticed."""
        gone = inputs.double().flatten(1) - self.x.double()
        moving = torch.from_numpy(self.units > 0)
        counted = gone[:, moving] / torch.from_numpy(self.units)[moving]
        return counted @ torch.from_numpy(self.directions[self.units > 0]) + gone[:, ~moving].sum(1, keepdim=True)

    def line(self) -> Array:
        """Shifts along the first coordinate: none, then both ways."""
        sizes = np.linspace(0, _FARTHEST * self.law.sigma, 161)[1:]
        along = np.concatenate([[0.0], np.ravel(np.stack([sizes, -sizes], 1))])
        return np.stack([along, np.zeros_like(along)], 1)

    def plane(self) -> Array:
        """Shifts along both coordinates: none, then circles."""
        sizes = np.linspace(0, _FARTHEST * self.law.sigma, 41)[1:]
        angles = np.linspace(0, 2 * math.pi, 96, endpoint=False)
        circle = np.stack([np.cos(angles), np.sin(angles)], 1)
        return np.concatenate([np.zeros((1, 2)), (sizes[:, None, None] * circle).reshape(-1, 2)])


def world(rng: np.random.Generator, kind: str, *, units: bool, dim: int | None = None) -> World:
    """Random noise on a random input; with units, from 1/256 to 256, and a feature that does not move."""
    sigma, moving = float(rng.uniform(0.2, 3)), dim or int(rng.choice([2, 3, 8, 40]))
    counted = 2.0 ** rng.integers(-8, 9, moving) if units else np.ones(moving)
    if units and dim is None:
        counted = np.append(counted, 0.0)
    size = len(counted)
    directions = np.zeros((size, 2))
    directions[:moving] = np.linalg.qr(rng.standard_normal((moving, moving)))[0][:, :2] if dim is None else np.eye(2)
    if kind == "gaussian":
        noise: Noise = ab.Gaussian(sigma, scale=counted.tolist() if units else None)
    else:
        radius = Ball.value_of(sigma, moving)
        noise = NoiseOf(Ball, radius, Budget(tuple(counted))) if units else ab.UniformBall(radius)
    x = torch.from_numpy(rng.uniform(-1, 1, size) * np.where(counted > 0, counted, 1.0)).float()
    return World(noise.law(size), noise, counted, x, directions)


class Coordinates(Field):
    """A map and logits that depend on the two coordinates only."""

    name, output = "known", "logit"

    def __init__(self, place: World, maps: Callable[[Tensor], Tensor], logits: Callable[[Tensor], Tensor]) -> None:
        self.place, self.maps, self.logits = place, maps, logits
        self.model = lambda inputs: logits(place.coordinates(inputs))

    def explain(
        self,
        inputs: Tensor,
        target: int | Tensor,
        *,
        generator: torch.Generator | None = None,
        create_graph: bool = False,
    ) -> Explanation:
        """Maps and logits at the coordinates of the rows."""
        z = self.place.coordinates(inputs)
        return Explanation(self.maps(z), self.logits(z))


def sides(maps: Array, fraction: float) -> tuple[Array, Array]:
    """Which cells of maps (J, m) are hot and which cold, by the definition in docs/theory/cells.md."""
    k = math.floor(fraction * maps.shape[1] + 0.5)
    larger = (maps[:, None, :] > maps[:, :, None]).sum(2)
    equal = (maps[:, None, :] == maps[:, :, None]).sum(2)
    return (larger + equal <= k).astype(float), (larger >= k).astype(float)


def _weights(place: World, breaks: Array, shifts: Array) -> Array:
    """(N, J) probability of each of the intervals between breaks, after shifts along one coordinate."""
    inner = place.cumulative(breaks[None, :] - shifts[:, None])
    edges = np.concatenate([np.zeros((len(shifts), 1)), inner, np.ones((len(shifts), 1))], 1)
    return np.diff(edges, axis=1)


def known_of(place: World, field: Bounded, truth: Truth) -> Known:
    return Known(field, place.x, place.noise, truth, place.units, place.directions)


def pieces(rng: np.random.Generator, place: World, count: int) -> Known:
    """A map that is constant between breaks along one coordinate; one piece is the map of a linear model."""
    breaks = np.sort(rng.uniform(-2.5, 2.5, count - 1)) * place.law.sigma
    values = rng.standard_normal((count, CELLS))
    values *= (rng.uniform(0.2, 1.0, count) / np.linalg.norm(values, axis=1))[:, None]
    if count == 2:
        values[1] = -values[0]
    border = float(rng.uniform(-1.5, 1.5)) * place.law.sigma
    table, cuts = torch.from_numpy(values), torch.from_numpy(breaks)
    field = ab.Clip(Coordinates(place, lambda z: table[torch.bucketize(z[:, 0].contiguous(), cuts)], _half(border)), 1)
    shifts = place.line()
    weights = _weights(place, breaks, shifts[:, 0])
    marks = {fraction: sides(values, fraction) for fraction in (0.5, 0.25)}
    mean = weights[0] @ values
    spread = (values * weights[0][:, None]).T @ values - np.outer(mean, mean)
    truth = Truth(
        shifts,
        weights @ values,
        {fraction: weights @ hot for fraction, (hot, _) in marks.items()},
        {fraction: weights @ cold for fraction, (_, cold) in marks.items()},
        _weights(place, np.array([border]), shifts[:, 0]),
        float(np.linalg.eigvalsh(spread)[-1]),
    )
    return known_of(place, field, truth)


def _half(border: float) -> Callable[[Tensor], Tensor]:
    """Class 0 up to the border along the first coordinate, else class 1."""
    return lambda z: torch.stack([border - z[:, 0], z[:, 0] - border], 1)


def turning(rng: np.random.Generator, place: World) -> Known:
    """(cos az, sin az, q, -q), of constant length: a shift turns the first two cells."""
    a, q = float(rng.uniform(0.1, 1.2)) / place.law.sigma, float(rng.uniform(0.1, 0.9))
    start, length = float(rng.uniform(0, 2 * math.pi)), math.sqrt(1 + 2 * q * q)
    border = float(rng.uniform(-1.5, 1.5)) * place.law.sigma

    def values(z: Array) -> Array:
        return np.stack([np.cos(a * z + start), np.sin(a * z + start), q + 0 * z, -q + 0 * z], 1) / length

    def maps(z: Tensor) -> Tensor:
        return torch.from_numpy(values(z[:, 0].numpy()))

    shifts = place.line()
    turns = 2 * math.pi * np.arange(-80, 81)[:, None]
    corners = [math.pi / 4, 5 * math.pi / 4, *(sign * math.acos(side * q) for sign in (1, -1) for side in (1, -1))]
    corners += [math.asin(q), math.pi - math.asin(q), -math.asin(q), math.pi + math.asin(q)]
    breaks = np.sort(np.ravel(turns + np.array(corners))) / a - start / a
    breaks = breaks[np.abs(breaks) < 15 * place.law.sigma + place.law.radius]
    middles = np.concatenate([[breaks[0] - 1e-3 / a], (breaks[1:] + breaks[:-1]) / 2, [breaks[-1] + 1e-3 / a]])
    weights = _weights(place, breaks, shifts[:, 0])
    marks = {fraction: sides(values(middles), fraction) for fraction in (0.5, 0.25)}
    smooth = values(shifts[:, 0]) * np.array([place.wave(a), place.wave(a), 1, 1])
    double = place.wave(2 * a) * np.array([math.cos(2 * start), math.sin(2 * start)])
    second = np.array([[1 + double[0], double[1]], [double[1], 1 - double[0]]]) / 2 / length**2
    eigenvalue = float(np.linalg.eigvalsh(second - np.outer(smooth[0, :2], smooth[0, :2]))[-1])
    truth = Truth(
        shifts,
        smooth,
        {fraction: weights @ hot for fraction, (hot, _) in marks.items()},
        {fraction: weights @ cold for fraction, (_, cold) in marks.items()},
        _weights(place, np.array([border]), shifts[:, 0]),
        eigenvalue,
    )
    return known_of(place, ab.Unit(Coordinates(place, maps, _half(border))), truth)


def half_spaces(rng: np.random.Generator, place: World) -> Known:
    """Two pairs of opposite cells, whose signs are those of two half-spaces."""
    borders, sizes = rng.uniform(-1.5, 1.5, 2) * place.law.sigma, np.sort(rng.uniform(0.3, 1.0, 2))[::-1]
    sizes = sizes / np.linalg.norm(np.repeat(sizes, 2))
    signs, scale = np.array([1.0, -1.0]), np.repeat(sizes, 2)

    def maps(z: Tensor) -> Tensor:
        up = torch.where(z <= torch.from_numpy(borders), 1.0, -1.0).double()
        return torch.stack([up, -up], 2).flatten(1) * torch.from_numpy(scale)

    shifts = place.plane()
    likely = np.stack([place.cumulative(borders[k] - shifts[:, k]) for k in range(2)], 1)
    first = np.stack([likely, 1 - likely], 2).reshape(len(shifts), CELLS)
    largest = first * (np.arange(CELLS) < 2)
    truth = Truth(
        shifts,
        np.repeat(2 * likely - 1, 2, axis=1) * np.tile(signs, 2) * scale,
        {0.5: first, 0.25: largest},
        {0.5: 1 - first, 0.25: 1 - largest},
        np.stack([likely[:, 0], 1 - likely[:, 0]], 1),
    )
    return known_of(place, ab.Unit(Coordinates(place, maps, _half(float(borders[0])))), truth)
