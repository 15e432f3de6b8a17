"""How large a change of several columns is, from what each column's own change costs.

A *price* is what one column's change adds; the *total* of several prices grows with each of them; a size is what people
read. l2: squares, their sum, its root. each: distances and the largest of them. count: one for every changed answer.
"""

from abc import ABC, abstractmethod
from typing import final

import numpy as np

from attribound.errors import ArgumentError
from attribound.forests.cells import Cells
from attribound.forests.ensemble import FloatArray


class Size(ABC):
    """One way of measuring."""

    name: str

    @abstractmethod
    def price(self, distance: FloatArray) -> FloatArray:
        """What a column's own distance, in units, costs."""

    def prices(self, cells: Cells) -> FloatArray:
        """What each alternative of a column costs."""
        return self.price(cells.distance)

    @abstractmethod
    def total(self, prices: FloatArray) -> float:
        """Of all columns together."""

    @abstractmethod
    def size(self, total: float) -> float:
        """What people read."""

    @abstractmethod
    def left(self, limit: float, total: float, price: float) -> float:
        """Below which price one column stays within a limit, if its own part of the total is `price`."""

    @property
    def counts(self) -> bool:
        """Whether every changed answer costs the same."""
        return False

    @property
    def adds(self) -> bool:
        """Whether the total is the sum of the prices; else it is the largest."""
        return True


@final
class Euclidean(Size):
    """The root of the sum of squares."""

    name = "l2"

    def price(self, distance: FloatArray) -> FloatArray:
        """Squares."""
        return distance * distance

    def total(self, prices: FloatArray) -> float:
        """Their sum."""
        return float(prices.sum())

    def size(self, total: float) -> float:
        """The root."""
        return float(np.sqrt(total))

    def left(self, limit: float, total: float, price: float) -> float:
        """What the others leave."""
        return limit - (total - price)


@final
class Largest(Size):
    """Each column by at most this number of units."""

    name = "each"

    def price(self, distance: FloatArray) -> FloatArray:
        """Distances."""
        return distance

    def total(self, prices: FloatArray) -> float:
        """The largest."""
        return float(prices.max(initial=0.0))

    def size(self, total: float) -> float:
        """Itself."""
        return total

    def left(self, limit: float, total: float, price: float) -> float:
        """The limit: columns do not share."""
        return limit

    @property
    def adds(self) -> bool:
        """The largest."""
        return False


@final
class Changes(Size):
    """The number of answers changed."""

    name = "count"

    def price(self, distance: FloatArray) -> FloatArray:
        """One for every change."""
        return np.where(np.isfinite(distance), np.sign(distance), distance)

    def prices(self, cells: Cells) -> FloatArray:
        """One for every cell but the row's own, however near."""
        others = np.arange(len(cells.codes)) != cells.own
        return np.where(np.isfinite(cells.distance), others.astype(np.float64), cells.distance)

    def total(self, prices: FloatArray) -> float:
        """Their number."""
        return float(prices.sum())

    def size(self, total: float) -> float:
        """Itself."""
        return total

    def left(self, limit: float, total: float, price: float) -> float:
        """What the others leave."""
        return limit - (total - price)

    @property
    def counts(self) -> bool:
        """Every changed answer costs one."""
        return True


SIZES: dict[str, Size] = {size.name: size for size in (Euclidean(), Largest(), Changes())}


def size_named(name: str) -> Size:
    """By the name that people type."""
    if name not in SIZES:
        raise ArgumentError(f"expected `size` {', '.join(SIZES)}, got {name!r}")
    return SIZES[name]
