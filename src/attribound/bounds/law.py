"""The one interface of laws of noise: everything that the mathematics asks about a law.

A law with units per feature is the same law in the space x / units: epsilon then counts units (docs/theory).
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

import numpy as np

from attribound import checks as check
from attribound.bounds.truncation import ROUNDING, Truncation
from attribound.checks import FloatArray, Number
from attribound.errors import ArgumentError

INVERTED = 1e-10
"""Relative error allowed to inverse functions, far more than they have."""


def size_words(units: object) -> str:
    """What epsilon counts, in words: it stands after "the change's" or "whose", wherever epsilon is explained."""
    return "l2 size" if units is None else "size in units of each feature"


@dataclass(frozen=True)
class Law(ABC):
    """A law of noise on inputs of a given size; it is rotation invariant once features are divided by their units.

    Attributes:
        dim: number of input features.
        scale: the law's one parameter, named `parameter`.
        units: deviation of each feature relative to the law's own; None: 1 for all.
    """

    dim: int
    scale: float
    units: tuple[float, ...] | None = None
    kind: ClassVar[str]
    """What people type before the colon."""
    parameter: ClassVar[str]
    """What `scale` is called: it is one of the two keys `radius` and `sigma` of a record."""
    radial: ClassVar[bool]
    """Whether a draw is a normal vector stretched to another length (see `stretch`), or just scaled."""
    levels: ClassVar[int]
    """How many truncations are worth trying; 1 if one of them is the best for every question."""

    def __post_init__(self) -> None:
        check.dimension(self.dim)
        check.positive(self.parameter, self.scale)
        if self.units is not None:
            check.positive("scale", self.units)
            if len(self.units) != self.dim:
                raise ArgumentError(f"expected one unit per feature ({self.dim}), got {len(self.units)}")

    @cached_property
    def smallest_unit(self) -> float:
        """The smallest unit of any feature."""
        return 1.0 if self.units is None else min(self.units)

    # --- for people ----------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def sigma(self) -> float:
        """Standard deviation of one feature, in its unit: what makes two laws comparable."""

    @property
    def radius(self) -> float:
        """Radius of the uniform ball with the same energy: sigma sqrt(dim + 2)."""
        return self.sigma * math.sqrt(self.dim + 2)

    @property
    @abstractmethod
    def words(self) -> str:
        """The law in words."""

    @property
    def size(self) -> str:
        """What epsilon counts, in words."""
        return size_words(self.units)

    @property
    def spec(self) -> str:
        """What people type: `kind:scale`."""
        return f"{self.kind}:{self.scale!r}"

    @classmethod
    @abstractmethod
    def scale_of(cls, sigma: float, dim: int) -> float:
        """The parameter at which every feature has standard deviation sigma."""

    # --- for the rules -------------------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def moved(cls, ratio: Number, dim: Number | None) -> FloatArray:
        """Fraction of the noise's mass that a shift of length ratio * scale moves."""

    @classmethod
    @abstractmethod
    def ratio_at(cls, moved: Number, dim: Number | None) -> FloatArray:
        """The inverse of `moved`."""

    @final
    def moved_fraction(self, epsilon: Number) -> FloatArray:
        """Fraction of the noise moved by a shift of length epsilon."""
        return self.moved(check.non_negative("epsilon", epsilon) / self.scale, self.dim)

    @final
    def epsilon_at(self, moved: Number) -> FloatArray:
        """The shift that moves this fraction of the noise."""
        return self.scale * self.ratio_at(moved, self.dim)

    @abstractmethod
    def truncate(self, epsilon: FloatArray, level: FloatArray) -> Truncation:
        """The likelihood ratio of a shift by epsilon, truncated at a level (any level gives a valid one)."""

    @abstractmethod
    def level_range(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Where the best level is to be sought."""

    @property
    @abstractmethod
    def reach(self) -> float:
        """An epsilon beyond which nothing is ever certified."""

    @property
    def curvature(self) -> float | None:
        """Bound on the Hessian, in x / units, of any output in [0, 1] smoothed with this noise; None: there is none."""
        return None

    def normal_shift(self, epsilon: Number) -> FloatArray | None:
        """Epsilon in standard deviations if the noise is normal, else None: rules for normal noise ask for it."""
        return None

    def majority_radius(self, lower: Number, needed: Number = 0.5) -> FloatArray:
        """How far an event of probability at least `lower` keeps more than `needed`, rounded down; 0.0: nowhere.

        The shift that moves what the event has more than it needs (docs/theory/cells.md).

        Args:
            lower: (a lower bound on) the probability of any event about the noisy input.
            needed: the probability, at least 1/2, that it must keep; by default it stays more likely than not.
        """
        spare = np.clip(check.fraction("lower", lower) - check.fraction("needed", needed) - ROUNDING, 0.0, 1.0)
        radius = self.epsilon_at(spare) * (1 - INVERTED)
        # The inverse is trusted only where the forward formula confirms it.
        return np.where(self.moved_fraction(radius) * (1 + 1e-12) < spare, radius, 0.0)

    def kept_probability(self, lower: Number, epsilon: Number) -> FloatArray:
        """What is left of an event's probability after any shift up to epsilon at least, rounded down.

        Args:
            lower: (a lower bound on) the probability of any event about the noisy input; arrays broadcast.
            epsilon: size of the shift.
        """
        lost = self.moved_fraction(epsilon) * (1 + 1e-12) + ROUNDING
        return np.clip(check.fraction("lower", lower) - lost, 0.0, 1.0)

    # --- for drawing ---------------------------------------------------------------------------------------

    def stretch(self, lengths: FloatArray, uniform: FloatArray) -> FloatArray:
        """Factors that turn normal vectors of these lengths into draws, given one uniform number each."""
        return np.full(len(lengths), self.scale)
