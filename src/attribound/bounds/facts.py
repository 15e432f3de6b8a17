"""Facts: what draws have proved about one smoothed attribution. Every fact is a value of a type of its own.

A fact's numbers may be floats (one record) or arrays (N, 1) (many records at once): rules take both. All facts of one
evidence hold at once with probability at least 1 - alpha.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, lru_cache
from typing import Any, ClassVar, Self, final

import numpy as np
import numpy.typing as npt

from attribound.bounds import confidence
from attribound.bounds.laws.base import Law
from attribound.bounds.shares import SHARES
from attribound.checks import FloatArray

Numbers = float | FloatArray
_FEW = 16
"""So few numbers are looked at faster one by one."""
_SLACK = 1e-9
"""Relative rounding allowed when a stored number is checked."""


def _read(name: str, kind: Any, value: Any) -> Numbers:
    """A stored number, or a list of them where the fact's field is declared an array and nothing else."""
    if type(value) is float and math.isfinite(value):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    if kind != FloatArray or not isinstance(value, list):
        raise ValueError(f"{name} is not a finite number")
    array = np.array(value)
    if array.dtype.kind not in "iuf":  # numpy would read texts as numbers
        raise ValueError(f"{name} is not a list of numbers")
    array = array.astype(np.float64)
    if not (np.isfinite(array).all() if array.size > _FEW else all(map(math.isfinite, array.ravel().tolist()))):
        raise ValueError(f"{name} is not a list of finite numbers")
    return array


@dataclass(frozen=True)
class Fact:
    """The root of all facts; `name` is the key of a fact in stored records."""

    name: ClassVar[str]
    cellwise: ClassVar[bool] = False
    """Whether it holds a number per cell of the map: such facts are not stacked, and no rule needs them."""

    boxed: ClassVar[bool] = False
    """Whether many facts pass `from_json` and `problems` if their `corners` do; those of other packages may not."""

    @property
    def width(self) -> int:
        """How many questions it is about; facts of different width are not stacked."""
        return 1

    @property
    def spent(self) -> float:
        """The part of alpha that it says it spent; 0.0 where records do not keep that."""
        return 0.0

    @classmethod
    def stack(cls, facts: Sequence[Self]) -> Self:
        """One fact about N records: every number becomes an array (N, 1)."""
        columns = {field.name: [getattr(fact, field.name) for fact in facts] for field in fields(cls)}
        return cls(**{name: np.asarray(column, np.float64)[:, None] for name, column in columns.items()})

    @classmethod
    def join(cls, facts: Sequence[Self]) -> Self:
        """One fact about all the records of some stacked facts."""
        return cls(**{field.name: np.concatenate([getattr(one, field.name) for one in facts]) for field in fields(cls)})

    def rows(self, places: npt.NDArray[np.intp]) -> Self:
        """Of a fact about N records, that about some of them."""
        return replace(self, **{field.name: getattr(self, field.name)[places] for field in fields(self)})

    @classmethod
    def corners(cls, columns: Mapping[str, FloatArray]) -> list[dict[str, Any]]:
        """As records store them: a fact of the smallest numbers of many, and one of the largest.

        Args:
            columns: by name, the numbers (N, ...) of N facts.
        """
        ends = (np.min, np.max)
        return [{name: end(column, axis=0).tolist() for name, column in columns.items()} for end in ends]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values: numbers and lists of numbers."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in values.items()}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The fact in a stored record; anything but its own finite numbers is a ValueError."""
        kind: Any = cls
        declared = _declared(kind)
        if stored.keys() != declared.keys():
            raise ValueError(
                f"{cls.name} has {', '.join(stored) or 'nothing'}, expected {', '.join(declared) or 'nothing'}"
            )
        return cls(**{name: _read(f"{cls.name}.{name}", known, stored[name]) for name, known in declared.items()})

    def problems(self, basis: "Basis") -> list[str]:
        """What no draws of this number could have proved at this alpha, in words; empty if all is possible."""
        return []


@cache
def _declared(kind: Any) -> dict[str, Any]:
    """Names and types of a fact's fields; there may be a hundred thousand facts to read."""
    return {field.name: field.type for field in fields(kind)}


@final
@dataclass(frozen=True)
class Basis:
    """What a stored fact claims to rest on.

    Attributes:
        limit: bound on every draw.
        draws: number of independent draws.
        alpha: failure probability of everything together.
        block: rows behind each draw.
        law: the law of the noise, where it is known.
    """

    limit: float
    draws: int
    alpha: float
    block: int = 1
    law: Law | None = None


# What no draws can exceed is the same for all records of a run.


@lru_cache(maxsize=256)
def _longest(basis: Basis) -> float:
    return confidence.largest_norm_lower(basis.draws, limit=basis.limit, alpha=basis.alpha)


@lru_cache(maxsize=256)
def _narrowest(basis: Basis) -> float:
    return confidence.smallest_eigenvalue_upper(basis.draws, limit=basis.limit, alpha=basis.alpha) * basis.block


@lru_cache(maxsize=256)
def _closest(basis: Basis) -> float:
    return float(
        confidence.mean_radius(
            limit=basis.limit, norm_lower=basis.limit, samples=basis.draws, alpha=basis.alpha, eigenvalue_upper=0.0
        )
    )


@final
@dataclass(frozen=True)
class Length(Fact):
    """How long the smoothed map is.

    Attributes:
        lower: lower bound on the norm of the exact map.
        sampled: norm of the sampled map; biased upwards, for information.
    """

    lower: Numbers
    sampled: Numbers
    name, boxed = "length", True

    def problems(self, basis: Basis) -> list[str]:
        """Within the limit, and no more than perfectly constant draws would prove."""
        lower, sampled = float(self.lower), float(self.sampled)
        most = _longest(basis)
        found = [] if 0 <= lower <= most * (1 + _SLACK) else [f"norm_lower {lower:g} is not in [0, {most:g}]"]
        if not 0 <= sampled <= basis.limit * (1 + _SLACK):
            found.append(f"norm {sampled:g} is not in [0, limit {basis.limit:g}]")
        return found


@final
@dataclass(frozen=True)
class Spread(Fact):
    """How much the attribution varies under the noise.

    Attributes:
        eigenvalue: upper bound on the largest eigenvalue of its covariance.
    """

    eigenvalue: Numbers
    name, boxed = "spread", True

    def problems(self, basis: Basis) -> list[str]:
        """Not smaller than draws without any spread would prove."""
        least = _narrowest(basis)
        if float(self.eigenvalue) >= least * (1 - _SLACK):
            return []
        return [
            f"eigenvalue_upper {float(self.eigenvalue):g} is smaller than {basis.draws} draws can prove ({least:g})"
        ]


@final
@dataclass(frozen=True)
class Closeness(Fact):
    """How close the sampled map is to the exact one.

    Attributes:
        radius: the exact map lies within this distance of the sampled one.
        attacked_alpha: the part of alpha kept for a map sampled at an attacked input.
    """

    radius: Numbers
    attacked_alpha: Numbers
    name, boxed = "closeness", True

    @property
    def spent(self) -> float:
        """What is kept for the attacked map."""
        return float(self.attacked_alpha)

    def problems(self, basis: Basis) -> list[str]:
        """Not smaller than draws without any spread would prove."""
        least, found = _closest(basis), list[str]()
        if float(self.radius) < least * (1 - _SLACK):
            found.append(f"map_radius {float(self.radius):g} is smaller than {basis.draws} draws can prove ({least:g})")
        half = SHARES["radius"] * basis.alpha / 2  # the other half is the sampled map's own
        if not 0 < float(self.attacked_alpha) <= half * (1 + _SLACK):
            found.append(f"attacked_alpha {float(self.attacked_alpha):g} is not in (0, {half:g}], its share of alpha")
        return found


@final
@dataclass(frozen=True)
class ProbabilityGradient(Fact):
    """The field is the plain, true gradient of a locally Lipschitz output in [0, 1], as its user states."""

    name, boxed = "probability_gradient", True
