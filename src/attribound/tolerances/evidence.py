"""What tolerances follow from, as arrays: a list of everything that was tried, or what a scan keeps."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, final

import numpy as np
import numpy.typing as npt

from attribound.bounds.scan.evidence import ScanEvidence
from attribound.checks import FloatArray

Interval = tuple[float, float] | None
"""Left and right end in the change's unit; None where not even no change is proved."""

SHARES: Final = MappingProxyType({"reach": 0.85, "class": 0.1, "curve": 0.02})
"""Parts of a scanned change's alpha; the rest is kept for statements that come later."""

WINDOW = 1 / 8
"""Half-width of a scan's windows over the range unless told otherwise: a wide window makes reach out of nothing."""

MARGIN = 1e-6
"""Cosines this near to what was asked count as failed: they hang on rounding."""


class Evidence(ABC):
    """From facts to answers.

    Attributes:
        values: where it looked, as people count it.
    """

    values: FloatArray

    @abstractmethod
    def reaches(self, cosines: tuple[float, ...], alpha: float) -> Mapping[float, Interval]:
        """The proved interval of each cosine asked; alpha is that of the whole record."""

    @abstractmethod
    def class_reach(self, alpha: float) -> Interval:
        """The interval in which the class is proved to stay."""

    @abstractmethod
    def problems(self) -> list[str]:
        """What cannot be."""

    @property
    @abstractmethod
    def tried(self) -> tuple[float, float, float]:
        """The left end of what was tried, no change, and the right end, as people count them."""

    @property
    @abstractmethod
    def draws(self) -> int:
        """The least number of maps that were computed."""


@final
@dataclass(frozen=True)
class Listed(Evidence):
    """Every alternative of a finite change.

    Attributes:
        places: (N,) where each lies, the input itself at 0.
        values: (N,) the places as people count them.
        zero: no change, as people count it.
        cosines: (N,) of their maps with the plain one.
        kept: (N,) whether the class stayed.
        sizes: places are sizes of changes that go either way.
        empty: the plain map is zero, so that nothing is proved about maps.
    """

    places: FloatArray
    values: FloatArray
    zero: float
    cosines: FloatArray
    kept: npt.NDArray[np.bool_]
    sizes: bool
    empty: bool

    def holds(self, cosine: float) -> npt.NDArray[np.bool_]:
        """(N,) which alternatives keep a cosine."""
        return np.asarray(self.cosines >= cosine + min(MARGIN, (1 - cosine) / 2))

    def reaches(self, cosines: tuple[float, ...], alpha: float) -> Mapping[float, Interval]:
        """Nothing is left to chance: alpha does not matter."""
        return {cosine: None if self.empty else self._interval(self.holds(cosine)) for cosine in cosines}

    def class_reach(self, alpha: float) -> Interval:
        """The same for the class."""
        return self._interval(self.kept)

    def problems(self) -> list[str]:
        """Cosines that are none, an alternative that is no change, values that are not in the places' order."""
        arrays = (self.places, self.values, self.cosines, self.kept)
        if any(array.shape != (len(self.places),) for array in arrays) or not len(self.places):
            return ["its list of alternatives is none"]
        if (np.abs(self.cosines) > 1).any() or (self.places == 0).any():
            return ["its list has a cosine beyond 1, or an alternative that is no change"]
        order = np.argsort(np.append(self.places, 0.0), kind="stable")
        if not (np.diff(np.append(self.values, self.zero)[order]) >= 0).all():
            return ["its values are not in the order of their places"]
        return []

    @property
    def tried(self) -> tuple[float, float, float]:
        """From the smallest value to the largest; where values are sizes, either way."""
        low, high = min(self.zero, float(self.values.min())), max(self.zero, float(self.values.max()))
        return (0.0 - high if self.sizes else low), self.zero, high

    @property
    def draws(self) -> int:
        """One map for each alternative."""
        return len(self.places)

    def _interval(self, holds: npt.NDArray[np.bool_]) -> Interval:
        left, right = reach_of_places(self.places, holds)
        high = self._shown(right)
        low = 0.0 - high if self.sizes else self._shown(left)
        failing = self.values[~holds]
        # No compression is shown as quality 100: where that quality fails, the interval of no change would name it.
        return None if ((failing >= low) & (failing <= high)).any() else (low, high)

    def _shown(self, place: float) -> float:
        return self.zero if place == 0 else float(self.values[self.places == place][0])


@final
@dataclass(frozen=True)
class Scanned(Evidence):
    """What is kept of a scan.

    Attributes:
        scan: by parameter.
        values: (J,) every position as people count it if it is a proved end, rounded inward.
    """

    scan: ScanEvidence
    values: FloatArray

    def reaches(self, cosines: tuple[float, ...], alpha: float) -> Mapping[float, Interval]:
        """All hold at once with probability at least 1 - SHARES["reach"] * alpha."""
        each = SHARES["reach"] * alpha / len(cosines)
        return {cosine: self._interval(*self.scan.reach(cosine, each)) for cosine in cosines}

    def class_reach(self, alpha: float) -> Interval:
        """The class has the majority in every window between the ends."""
        return self._interval(*self.scan.class_reach(SHARES["class"] * alpha))

    def problems(self) -> list[str]:
        """What no scan can have found, and values that are not in order."""
        found = self.scan.problems()
        if not found and not (self.values.shape == self.scan.along.shape and (np.diff(self.values) >= 0).all()):
            found.append("its values are not in the order of its positions")
        return found

    @property
    def tried(self) -> tuple[float, float, float]:
        """The first position, that of no change, and the last one."""
        low, zero, high = (float(self.values[at]) for at in (0, self.scan.grid.left, -1))
        return low, zero, high

    @property
    def window(self) -> float | None:
        """Half-width of the windows as people count it: the position at that distance; None where none is there."""
        grid = self.scan.grid
        return float(self.values[grid.left + grid.half]) if grid.right >= grid.half else None

    @property
    def draws(self) -> int:
        """Of its rounds."""
        grid = self.scan.grid
        return grid.draws * (self.scan.draws // grid.per_window)

    def _interval(self, left: float | None, right: float | None) -> Interval:
        if left is None or right is None:
            return None
        grid = self.scan.grid
        ends = (round(end / grid.step) + grid.left for end in (left, right))
        first, last = (float(self.values[end]) for end in ends)
        return first, last


def reach_of_places(places: FloatArray, holds: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """The last places on the left and on the right of 0 before the first that has an alternative that fails."""
    ends = []
    for sign in (-1, 1):
        mine = sign * places > 0
        failing = np.abs(places[mine & ~holds]).min(initial=np.inf)
        ends.append(sign * np.abs(places[mine & (np.abs(places) < failing)]).max(initial=0.0))
    return float(ends[0]) + 0.0, float(ends[1])
