"""Draws of a change beside those of its scan: one in each of many equal cells, for searches and checks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from attribound.changes.base import Continuous
from attribound.errors import ArgumentError
from attribound.randomness import Purpose, seed_from, stream
from attribound.sampling.along import Along

_CHUNK = 64
"""Draws that are in memory together."""
_EDGE = 1 + 1e-9
"""A draw at a window's edge is in it, whatever rounding says."""


@final
@dataclass(frozen=True)
class Drawn:
    """Some draws.

    Attributes:
        t: (B,) where they were drawn; of a change with t >= 0 only, |t| was made.
        maps: (B, m) their maps.
        classes: (B,) the model's classes.
    """

    t: Tensor
    maps: Tensor
    classes: Tensor


@final
@dataclass(frozen=True)
class WindowMeans:
    """Sampled means over windows.

    Attributes:
        maps: (P, m) mean maps; zero where no draw is in the window.
        shares: (P,) shares of draws of the class that is counted.
        counts: (P,) draws in each window.
    """

    maps: Tensor
    shares: Tensor
    counts: Tensor

    def only(self, places: slice) -> "WindowMeans":
        """Some of them."""
        return WindowMeans(self.maps[places], self.shares[places], self.counts[places])


@final
@dataclass(frozen=True)
class Stratified:
    """Where stratified draws come from.

    Attributes:
        along: the family of maps of a continuous change.
        purpose: of the streams: draws of two purposes are independent.
        seed: of the draws.
        item: number of the input; draws depend on (purpose, seed, item, change, part).
    """

    along: Along
    purpose: Purpose
    seed: int
    item: int = 0

    @property
    def change(self) -> Continuous:
        """The change, which must have a range."""
        change = self.along.change
        if not isinstance(change, Continuous):
            raise ArgumentError(f"{change.name} has no range to draw from: its alternatives are listed")
        return change

    def chunks(self, center: float, half: float, count: int, part: int = 0) -> Iterator[Drawn]:
        """One uniform draw in each of `count` equal cells from center - half to center + half, some at a time.

        Args:
            center: of the interval, in the change's parameter.
            half: half of its length.
            count: cells.
            part: the first of the streams' parts that are used; one more for each chunk follows it.
        """
        within = (torch.arange(count) + torch.rand(count, generator=self._stream(part, "cpu"), dtype=torch.float64)) / (
            count / 2
        )
        drawn = center + half * (within - 1)
        for number, t in enumerate(drawn.split(_CHUNK)):
            placed = t.abs() if self.change.mirrored else t
            seen = self.along.look(placed, self._stream(part + 1 + number, self.along.x.device))
            yield Drawn(t, seen.maps, seen.classes)

    def means(self, positions: Tensor, window: float, count: int, *, label: int = 0, part: int = 0) -> WindowMeans:
        """Sampled means over the windows at positions, from the same draws for all of them.

        Args:
            positions: (P,) in the change's parameter.
            window: half-width of the windows.
            count: draws from the first window's left edge to the last one's right edge.
            label: the class that is counted.
            part: as for `chunks`.
        """
        low, high = float(positions.min()), float(positions.max())
        maps, hits, counts = torch.zeros(()), torch.zeros(()), torch.zeros(())
        for drawn in self.chunks((low + high) / 2, (high - low) / 2 + window, count, part):
            inside = ((drawn.t - positions[:, None]).abs() <= window * _EDGE).double()
            maps = maps + inside @ drawn.maps
            hits = hits + inside @ (drawn.classes == label).double()
            counts = counts + inside.sum(dim=1)
        least = counts.clamp(min=1)
        return WindowMeans(maps / least[:, None], hits / least, counts)

    def _stream(self, part: int, device: torch.device | str) -> torch.Generator:
        """Each change of each item has streams of its own."""
        item = (self.item << 48) + seed_from(self.change.spec.encode())
        return stream(self.purpose, self.seed, item, part, device)
