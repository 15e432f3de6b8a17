"""The one interface of laws of noise: everything that the mathematics asks about a law.

A law lives in unit coordinates (`attribound.bounds.budgets`): it knows neither units nor inputs. It must answer the
moved fraction. Truncations (`levels` > 0), the normal shift and the curvature are capabilities: the rules that need one
say nothing for a law without it.
"""

from abc import ABC, abstractmethod
from typing import ClassVar, final

import numpy as np

from attribound import checks as check
from attribound.bounds.truncation import ROUNDING, Truncation
from attribound.checks import FloatArray, Number

INVERTED = 1e-10
"""Relative error allowed to inverse functions, far more than they have."""


class Law(ABC):
    """A rotation-invariant law of noise. Subclasses are frozen dataclasses of `dim` and one parameter.

    Attributes:
        dim: the number of parameters that it moves.
        sigma: standard deviation of one of them, in its unit: what makes two laws comparable.
        radius: radius of the uniform ball with the same energy, sigma sqrt(dim + 2).
        kind: what people type before the colon.
        parameter: which of `radius` and `sigma` is the law's own parameter.
        radial: whether a draw is a normal vector stretched to another length (see `stretch`), or just scaled.
        levels: how many truncations are worth trying; 1 if one is the best for every question; 0: it has none.
    """

    dim: int
    sigma: float
    radius: float
    kind: ClassVar[str]
    parameter: ClassVar[str]
    radial: ClassVar[bool]
    levels: ClassVar[int] = 0

    @abstractmethod
    def __init__(self, dim: int, value: float) -> None:
        """Every law is made of a dimension and its parameter."""

    def __post_init__(self) -> None:
        check.count("dim", self.dim)
        check.positive(self.parameter, self.value)

    # --- for people ----------------------------------------------------------------------------------------

    @property
    @final
    def value(self) -> float:
        """The law's own parameter, whatever its name."""
        return float(getattr(self, self.parameter))

    @property
    @abstractmethod
    def words(self) -> str:
        """The law in words."""

    @property
    @final
    def spec(self) -> str:
        """What people type: `kind:value`."""
        return f"{self.kind}:{self.value!r}"

    @classmethod
    @abstractmethod
    def value_of(cls, sigma: float, dim: int) -> float:
        """The parameter at which every feature has standard deviation sigma."""

    # --- for the rules -------------------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def moved(cls, ratio: Number, dim: Number | None) -> FloatArray:
        """Fraction of the noise's mass that a shift of length ratio * value moves."""

    @classmethod
    @abstractmethod
    def ratio_at(cls, moved: Number, dim: Number | None) -> FloatArray:
        """The inverse of `moved`."""

    @final
    def moved_fraction(self, epsilon: Number) -> FloatArray:
        """Fraction of the noise moved by a shift of length epsilon."""
        return self.moved(check.non_negative("epsilon", epsilon) / self.value, self.dim)

    @final
    def epsilon_at(self, moved: Number) -> FloatArray:
        """The shift that moves this fraction of the noise."""
        return self.value * self.ratio_at(moved, self.dim)

    def truncate(self, epsilon: FloatArray, level: FloatArray) -> Truncation:
        """The likelihood ratio of a shift by epsilon, truncated at a level (any level gives a valid one)."""
        raise NotImplementedError(f"{self.kind} noise has no truncations")

    def level_range(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Where the best level is to be sought."""
        raise NotImplementedError(f"{self.kind} noise has no truncations")

    def better_level(self, epsilon: FloatArray, level: FloatArray, cut: Truncation, ratio: FloatArray) -> FloatArray:
        """From a level and its truncation to one where ratio * missing + deviation is probably smaller: any will do."""
        return level

    @property
    @abstractmethod
    def reach(self) -> float:
        """An epsilon beyond which nothing is ever certified."""

    @property
    def curvature(self) -> float | None:
        """Bound on the Hessian, in unit coordinates, of any output in [0, 1] under this noise; None: there is none."""
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
        return np.full(len(lengths), self.value)
