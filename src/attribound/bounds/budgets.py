"""How large a change is: a budget is a value that measures changes and has words for them.

A change has parameters t, and t = 0 is no change. A budget's units say how much of each parameter counts as one; a
parameter whose unit is 0 does not move. Laws of noise live in unit coordinates t / units and know nothing of units.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from attribound import checks as check
from attribound.checks import FloatArray
from attribound.errors import ArgumentError


@final
@dataclass(frozen=True)
class Budget:
    """All changes up to an l2 size, which counts units.

    Attributes:
        units: how much of each parameter counts as one; None: 1 for all.
        changes: where parameters are not the input's own numbers, the changes that they are amounts of, as people type
            them: the amount that is typed counts as one.
    """

    units: tuple[float, ...] | None = None
    changes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.units is not None and not check.non_negative("scale", self.units).any():
            raise ArgumentError("expected at least one `scale` above 0: nothing would move")

    @cached_property
    def factors(self) -> FloatArray:
        """The units as an array; a single 1 where all are."""
        return np.ones(1) if self.units is None else np.asarray(self.units, np.float64)

    @property
    def moving(self) -> npt.NDArray[np.bool_]:
        """Which parameters move; a single True where all do."""
        return np.asarray(self.factors > 0)

    @property
    def smallest(self) -> float:
        """The smallest unit of a parameter that moves."""
        return float(self.factors[self.moving].min())

    def dim(self, parameters: int) -> int:
        """How many of these parameters move: the dimension in which the noise lives."""
        if self.units is None:
            return parameters
        if len(self.units) != parameters:
            raise ArgumentError(f"expected one unit per feature ({parameters}), got {len(self.units)}")
        return int(np.count_nonzero(self.moving))

    def size(self, shift: FloatArray) -> float:
        """The l2 length of shift / units; infinity where something moves that does not."""
        flat = np.asarray(shift, np.float64).ravel()
        with np.errstate(divide="ignore", invalid="ignore"):
            counted = np.where(flat == 0, 0.0, flat / self.factors)
        return float(np.linalg.norm(counted))

    @property
    def measure(self) -> str:
        """What a size counts, in words: it stands after "the change's" or "whose", wherever epsilon is explained."""
        if self.changes:
            return f"l2 length in units of {_listed(self.changes)}"
        return "l2 size" if self.units is None else "size in units of each feature"

    def words(self, size: str) -> str:
        """The changes up to a size (already rounded) in a phrase, e.g. "change of l2 size up to 0.18"."""
        if self.changes:
            names = _listed([spec.partition(":")[0] for spec in self.changes])
            return (
                f"combination of {names} whose sizes, in units of {_listed(self.changes)}, have l2 length up to {size}"
            )
        return f"change of {self.measure} up to {size}"


def _listed(words: Sequence[str]) -> str:
    """Words with commas and an "and"."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


PLAIN = Budget()
"""Every number counts as it is."""
