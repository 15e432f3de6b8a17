"""The one interface of changes: what the world may do to an input, as a function of a parameter.

A change makes x_t from x and brings maps of x_t back to the frame of x. It is *continuous*, with a range that a scan
proves with confidence, or *finite*, with alternatives that are all tried. For one of your own, subclass `Continuous` or
`Finite`, write `apply`, and call `register`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self, final

import torch
from torch import Tensor

from attribound.errors import ArgumentError
from attribound.fields.base import Explanation, Field
from attribound.rounding import exact_text

_ADDS_UP = 1e-4
"""What rounding may explain where a change is made in two steps."""


class Change(ABC):
    """What the world may do to an input.

    Attributes:
        name: as people type it.
        title: what happens to the input, as people say it, smaller values first; empty: its name.
        unit: what follows the numbers that people see, e.g. "degrees".
        made: in words, how the changed input is made.
        example: a spec that people can copy.
        adds_up: whether changing by t and then by u is changing by t + u, exactly but for rounding.
        moves: whether things move, so that maps must be brought back and need places.
        dimensions: how many parameters it has.
    """

    name: str
    title: str = ""
    unit: ClassVar[str]
    made: ClassVar[str]
    example: ClassVar[str]
    adds_up: ClassVar[bool] = False
    moves: bool = False
    dimensions: int = 1

    @abstractmethod
    def apply(self, x: Tensor, t: Tensor) -> Tensor:
        """The changed inputs.

        Args:
            x: one input.
            t: (B,) parameters, float64; (B, k) where there are k of them.

        Returns:
            (B, *x.shape), on the device of x; each row depends on its own t only.
        """

    def back(self, maps: Tensor, t: Tensor, shape: Sequence[int]) -> Tensor:
        """Maps of the changed inputs in the frame of x; for changes that do not move things, the maps themselves.

        Args:
            maps: (B, ...) in the map's own shape.
            t: their parameters.
            shape: of x.
        """
        return maps

    @property
    def brings_back(self) -> bool:
        """Whether it has a way of its own to bring maps back."""
        return type(self).back is not Change.back

    def explain(self, field: Field, points: Tensor, t: Tensor, target: int, **how: Any) -> Explanation:
        """What is said about changed inputs: by the field itself, unless the change is one of explanations.

        Args:
            field: the field that is asked about.
            points: (B, ...) the changed inputs.
            t: their parameters.
            target: the class that is explained.
            how: `generator` and `create_graph`, as for the field.
        """
        return field.explain(points, target, **how)

    def sliding(self) -> "Continuous":
        """The same change by any real amount, as `Together` makes it."""
        raise ArgumentError(
            f"{self.name} has no amounts between its alternatives, so it cannot be combined with others"
        )

    def check(self, x: Tensor) -> None:  # noqa: B027  most changes of one's own fit any input
        """Raise ArgumentError where the change cannot be made to this input."""

    @property
    def versions(self) -> dict[str, str]:
        """Libraries besides torch that decide what the changed input is, with their versions."""
        return {}

    @classmethod
    def parse(cls, amount: str) -> Self:
        """The change of a spec NAME:AMOUNT; the amount is "" where none was typed."""
        raise ArgumentError(f"{cls.name} has no spec: make it in Python")

    @property
    @abstractmethod
    def spec(self) -> str:
        """As people type it."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.spec}>"


class Continuous(Change):
    """A change with one real parameter, scanned over its range and a window beyond.

    Attributes:
        mirrored: only t >= 0 has a meaning; the window at 0 takes |t|.
        low: left end of the parameter's range, in which windows are counted.
        high: right end.
    """

    mirrored: ClassVar[bool] = False
    low: float
    high: float

    def sliding(self) -> "Continuous":
        """Itself."""
        return self

    def shown(self, t: float) -> float:
        """The parameter as people count it."""
        return t

    def inner(self, shown: float) -> float:
        """The parameter of a number as people count it."""
        return shown

    @property
    def spec(self) -> str:
        """As people type it."""
        return f"{self.name}:{exact_text(self.shown(self.high))}"


class Factor(Continuous):
    """A change by a factor, with its logarithm as the parameter: twice and half are equally far from 1."""

    unit = "times"

    def __init__(self, factor: float) -> None:
        """Allow factors from 1 / factor to factor."""
        if not (_is_finite(factor) and factor > 1):
            raise ArgumentError(f"expected a factor > 1 for {self.name}, such as {self.example}, got {_given(factor)}")
        self.factor = float(factor)
        self.low, self.high = -math.log(self.factor), math.log(self.factor)

    @classmethod
    def parse(cls, amount: str) -> Self:
        """NAME:2 or NAME:2x."""
        return cls(number(cls, amount, ("", "x")))

    def shown(self, t: float) -> float:
        """The factor."""
        return self.factor if t == self.high else (1 / self.factor if t == self.low else math.exp(t))

    def inner(self, shown: float) -> float:
        """Its logarithm."""
        return math.log(shown) if shown > 0 else -math.inf


class Finite(Change):
    """A change with finitely many alternatives: all are tried.

    Attributes:
        sizes: places are sizes of changes that go either way, so that a reach of k means from -k to k.
    """

    sizes: bool = False

    @abstractmethod
    def alternatives(self, x: Tensor) -> Tensor:
        """(N,) or (N, k) the parameters of all alternatives to x itself; every row is a change, none is x."""

    def places(self, t: Tensor) -> Tensor:
        """(N,) where each alternative lies on a line with x at 0; reach is counted along it."""
        return t

    def shown(self, place: float) -> float:
        """A place as people count it."""
        return place

    def label(self, t: Tensor) -> str:
        """One alternative, in words."""
        return f"{self.shown(float(self.places(t[None])[0])):g} {self.unit}"


class Named(Finite):
    """A finite change whose alternatives have names and no order: each is one step away. It is made in Python only."""

    @property
    @abstractmethod
    def labels(self) -> Sequence[str]:
        """The names."""

    @final
    @property
    def spec(self) -> str:
        """Its name, for the rest cannot be typed."""
        return self.name

    @final
    def alternatives(self, x: Tensor) -> Tensor:
        """All of them, by number."""
        return torch.arange(len(self.labels)).double()

    @final
    def places(self, t: Tensor) -> Tensor:
        """Each is one step away."""
        return torch.ones(len(t), dtype=torch.float64)

    @final
    def label(self, t: Tensor) -> str:
        """Its name."""
        return self.labels[round(float(t))]


class Switch(Finite):
    """A finite change without a range: its name says it all."""

    @classmethod
    def parse(cls, amount: str) -> Self:
        """Nothing but its name."""
        if amount:
            raise ArgumentError(f"expected {cls.name} without a range, got {amount!r}")
        return cls()

    @property
    def spec(self) -> str:
        """As people type it."""
        return self.name


def adds_up(change: Continuous, x: Tensor, window: float) -> bool:
    """Whether changing by t and then by u is changing by t + u, tried on an input for t in the range and |u| <= window.

    Of a change that takes |t| it never is: a window about a changed input goes one way only.
    """
    around = torch.tensor([-window, 0.0, window], dtype=torch.float64)
    for t in (change.low, change.low / 2, change.high / 2, change.high):
        once = change.apply(x.clone(), t + around)
        twice = change.apply(once[1].clone(), around)
        if change.mirrored or not torch.allclose(once, twice, rtol=_ADDS_UP, atol=_ADDS_UP):
            return False
    return True


def number(kind: type[Change], amount: str, units: tuple[str, ...]) -> float:
    """The positive number of a spec NAME:AMOUNT, with one of these units after it; "" allows none."""
    text, typed = amount.strip(), f"{kind.name}:{amount}"
    unit = next((one for one in sorted(units, key=len, reverse=True) if one and text.endswith(one)), "")
    if not text or (not unit and "" not in units and _value(text) is not None):
        problem = "a range" if not text else "a range with its unit"
        raise ArgumentError(f"expected {problem} for {kind.name}, such as {kind.example}, got {typed!r}")
    value = _value(text.removesuffix(unit).strip())
    if value is None or not (math.isfinite(value) and value > 0):
        raise ArgumentError(f"expected a range > 0 for {kind.name}, such as {kind.example}, got {typed!r}")
    return value


def positive(kind: type[Change], value: float) -> float:
    """A positive number given in Python."""
    if not (_is_finite(value) and value > 0):
        raise ArgumentError(f"expected a range > 0 for {kind.name}, such as {kind.example}, got {_given(value)}")
    return float(value)


def whole(kind: type[Change], value: float) -> int:
    """A positive whole number."""
    if not (_is_finite(value) and value >= 1 and value == int(value)):
        raise ArgumentError(
            f"expected a whole number >= 1 for {kind.name}, such as {kind.example}, got {_given(value)}"
        )
    return int(value)


def both_ways(count: int) -> Tensor:
    """The whole numbers from -count to count without 0."""
    return torch.cat([torch.arange(-count, 0), torch.arange(1, count + 1)]).double()


def _is_finite(value: Any) -> bool:
    """Whether it is a number at all, and a finite one."""
    try:
        return math.isfinite(value)
    except TypeError:
        return False


def _given(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else repr(value)


def _value(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
