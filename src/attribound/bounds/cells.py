"""Facts about single cells of a map and about the class, and what follows from them (docs/theory/cells.md).

None of them needs the limit on the field, and votes do not even need the map to have a mean.
"""

import base64
import binascii
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt

from attribound import checks as check
from attribound.bounds.facts import Basis, Fact, Numbers
from attribound.bounds.laws import Law
from attribound.bounds.proportions import majority_needed, proportion_lower
from attribound.bounds.shares import SHARES
from attribound.checks import FloatArray
from attribound.errors import ArgumentError

IntArray = npt.NDArray[np.int64]

BOLDEST = 0.95
"""No weight of the error bars' supermartingale exceeds this."""

_SLACK = 1e-6
"""Relative rounding allowed when stored numbers are checked; error bars are kept in float32."""


def hot_cells(fraction: float, size: int) -> int:
    """How many of a map's cells are hot: the fraction of them, halves rounded up.

    Args:
        fraction: which part of the map is called hot.
        size: cells of the map.

    Returns:
        A number in 1..size - 1; where nothing or everything would be hot, an ArgumentError.
    """
    number = math.floor(float(fraction) * size + 0.5)
    if not 1 <= number < size:
        raise ArgumentError(f"expected a fraction that marks 1 to {size - 1} of {size} cells, got {fraction:g}")
    return number


@dataclass(frozen=True, eq=False)
class CellFact(Fact, ABC):
    """A fact that holds arrays with one number per cell; records of different maps cannot share it."""

    cellwise = True

    @property
    @abstractmethod
    def size(self) -> int:
        """Cells of the map."""

    def __eq__(self, other: object) -> bool:
        """Whether all numbers agree."""
        if type(other) is not type(self):
            return False
        names = [field.name for field in fields(self)]
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    def __hash__(self) -> int:
        """By the kind alone."""
        return hash(self.name)


@final
@dataclass(frozen=True, eq=False)
class Votes(CellFact):
    """How often each cell was among the largest of its map.

    Attributes:
        fractions: (F,) which part of a map is called hot, in falling order.
        hot: (F, m) in how many draws each cell was hot.
        tied: (F, m) in how many draws each cell was tied at the threshold, neither hot nor cold.
        draws: number of draws.
        alpha: failure probability of all lower bounds together.
        attacked_alpha: the part of alpha kept for a vote map sampled at an attacked input.
    """

    fractions: FloatArray
    hot: FloatArray
    tied: FloatArray
    draws: float
    alpha: float
    attacked_alpha: float
    name = "votes"

    @property
    def size(self) -> int:
        """Cells of the map."""
        return int(self.hot.shape[1])

    @property
    def spent(self) -> float:
        """Both parts."""
        return self.alpha + self.attacked_alpha

    def to_json(self) -> dict[str, Any]:
        """Counts are whole numbers; ties are kept only if there are any."""
        stored = {**super().to_json(), "hot": self.hot.astype(int).tolist(), "draws": int(self.draws)}
        del stored["tied"]
        return {**stored, "tied": self.tied.astype(int).tolist()} if self.tied.any() else stored

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """A ValueError also for counts and shapes from which nothing can be derived."""
        votes = super().from_json({"tied": _no_ties(stored.get("hot")), **stored})
        shape = np.shape(votes.hot)
        if np.shape(votes.tied) != shape:
            raise ValueError("votes.tied does not hold one count per fraction and cell")
        if np.ndim(votes.fractions) != 1 or len(shape) != 2 or shape[0] != len(votes.fractions) or shape[1] < 2:
            raise ValueError("votes.hot does not hold one count per fraction and cell")
        for counts in (votes.hot, votes.tied, votes.hot + votes.tied):
            _check_counts("votes", counts, votes.draws)
        # Shared among cells, an alpha may be too small for a number.
        _check_alphas("votes", votes.alpha, votes.alpha / (2 * votes.hot.size), votes.attacked_alpha / votes.hot.size)
        return votes

    def winners(self, fraction: float) -> tuple[IntArray, FloatArray]:
        """The side with more votes for each cell, +1 (hot) or -1, and a lower bound on its probability.

        Ties count for neither. With probability at least 1 - alpha the bounds of all fractions and cells hold at once.
        """
        row = self._row(fraction)
        hot, cold = self.hot[row], self.draws - self.hot[row] - self.tied[row]
        sides = np.where(hot > cold, 1, -1)
        counts, where = np.unique(np.maximum(hot, cold), return_inverse=True)
        return sides, proportion_lower(counts, self.draws, self.alpha / (2 * self.hot.size))[where]

    def radii(self, fraction: float, law: Law, samples: int | None = None) -> tuple[IntArray, FloatArray]:
        """Each cell's side, and how far no change makes it lose the majority; 0.0 where nothing is proved.

        Args:
            fraction: one of `fractions`.
            law: the law of the noise.
            samples: None speaks of the exact vote maps; a number, of one sampled at the attacked input with so many
                draws, taken after that input was fixed.
        """
        sides, lower = self.winners(fraction)
        needed = 0.5 if samples is None else majority_needed(samples, self.attacked_alpha / self.hot.size)
        return sides, law.majority_radius(lower, needed)

    def problems(self, basis: Basis) -> list[str]:
        """Counts that add up: every draw has as many hot cells as its fraction says, or ties in their place."""
        share = SHARES["votes"] * basis.alpha
        if self.draws != basis.draws:
            return [f"votes of {self.draws:g} draws, not of {basis.draws}"]
        if self.spent > share * (1 + _SLACK):
            return [f"votes spent alpha {self.spent:g}, more than their share {share:g}"]
        try:
            wanted = np.array([hot_cells(fraction, self.size) for fraction in self.fractions]) * self.draws
        except ArgumentError as error:
            return [f"votes: {error}"]
        hot, tied = self.hot.sum(axis=1), self.tied.sum(axis=1)
        # A draw with ties has fewer hot cells than wanted, and with the tied ones more.
        fine = np.where(tied > 0, (hot < wanted) & (wanted < hot + tied), hot == wanted)
        return [] if fine.all() else ["votes do not add up to the hot cells of all draws"]

    def _row(self, fraction: float) -> int:
        near = np.flatnonzero(self.fractions == float(check.fraction("fraction", fraction)))
        if near.size == 0:
            counted = ", ".join(f"{one:g}" for one in self.fractions)
            raise ArgumentError(f"expected one of the fractions that were counted ({counted}), got {fraction:g}")
        return int(near[0])


@final
@dataclass(frozen=True)
class Majority(Fact):
    """How often the model gave one class, which the pilot had chosen, to the noisy inputs.

    Attributes:
        winner: that class.
        count: how often it was given after the pilot.
        tested: noisy inputs after the pilot.
        alpha: failure probability of the lower bound.
    """

    winner: Numbers
    count: Numbers
    tested: Numbers
    alpha: Numbers
    name, boxed = "majority", True

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """A ValueError also for counts from which nothing can be derived."""
        majority = super().from_json(stored)
        _check_counts("majority", majority.count, float(majority.tested))
        _check_counts("majority", majority.winner, 2**53)
        _check_alphas("majority", float(majority.alpha))
        return majority

    @classmethod
    def corners(cls, columns: Mapping[str, FloatArray]) -> list[dict[str, Any]]:
        """Also the largest count of the fewest tests, and a count that is no whole number, if there is one."""
        low, high = super().corners(columns)
        odd = [column[column != np.floor(column)] for name, column in columns.items() if name != "alpha"]
        broken = [{**low, "count": float(column[0])} for column in odd if column.size]
        return [low, high, {**low, "count": high["count"]}, *broken]

    @property
    def spent(self) -> float:
        """Of one record."""
        return float(self.alpha)

    @property
    def lower(self) -> FloatArray:
        """Lower bound on the class's probability under the noise."""
        return proportion_lower(self.count, self.tested, self.alpha)

    def radius(self, law: Law) -> FloatArray:
        """No change up to this alters the smoothed classifier's class; 0.0: it abstains."""
        return law.majority_radius(self.lower)

    def problems(self, basis: Basis) -> list[str]:
        """Within the draws and the share of alpha."""
        share = SHARES["prediction"] * basis.alpha
        if float(self.tested) > basis.draws * basis.block:
            return [f"the class was tested on {float(self.tested):g} noisy inputs, of {basis.draws} draws"]
        fits = self.spent <= share * (1 + _SLACK)
        return [] if fits else [f"the prediction spent alpha {self.spent:g}, more than its share {share:g}"]


@final
@dataclass(frozen=True, eq=False)
class ErrorBars(CellFact):
    """How far each cell of the exact map is from the sampled one at most, all cells at once.

    Attributes:
        half: (m,) the distances; rounded up to float32, in which they are stored.
    """

    half: FloatArray
    name = "error_bars"

    @property
    def size(self) -> int:
        """Cells of the map."""
        return int(self.half.size)

    @classmethod
    def of(cls, half: FloatArray) -> Self:
        """Distances, rounded up."""
        return cls(np.nextafter(half.astype(np.float32), np.float32(np.inf)).astype(np.float64))

    def to_json(self) -> dict[str, Any]:
        """Packed: float32, little-endian, in base64."""
        return {"half": base64.b64encode(self.half.astype("<f4").tobytes()).decode()}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Unpacked."""
        if set(stored) != {"half"} or not isinstance(stored["half"], str):
            raise ValueError("error_bars has no packed half")
        try:
            half = np.frombuffer(base64.b64decode(stored["half"], validate=True), "<f4").astype(np.float64)
        except (binascii.Error, ValueError):
            raise ValueError("error_bars.half is not packed float32") from None
        if half.size < 2 or not np.isfinite(half).all():
            raise ValueError("error_bars.half is not a finite number for every cell")
        return cls(half)

    def problems(self, basis: Basis) -> list[str]:
        """None is smaller than draws without any spread would prove."""
        least = basis.limit * math.log(2 * self.size / basis.alpha) / (BOLDEST * basis.draws)
        smallest = float(self.half.min())
        if smallest >= min(least, 2 * basis.limit) * (1 - _SLACK):
            return []
        return [f"error_bars of {smallest:g} are smaller than {basis.draws} draws can prove ({least:g})"]


def _no_ties(hot: Any) -> list[list[int]]:
    """Zeros for a record that keeps no ties."""
    rows = hot if isinstance(hot, list) else []
    return [[0] * len(row) for row in rows if isinstance(row, list)]


def _check_counts(name: str, counts: Numbers, draws: float) -> None:
    whole = draws >= 1 and float(draws).is_integer()
    if isinstance(counts, float) and 0 <= counts <= draws and whole and counts.is_integer():
        return
    counted = np.asarray(counts)
    if not (whole and ((counted >= 0) & (counted <= draws) & (counted == np.floor(counted))).all()):
        raise ValueError(f"{name} holds counts that are not whole numbers between 0 and {draws:g} draws")


def _check_alphas(name: str, *alphas: float) -> None:
    if not all(0 < alpha < 1 for alpha in alphas):
        raise ValueError(f"{name} has an alpha that is not in (0, 1)")
