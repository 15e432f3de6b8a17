"""The draws of a scan: a pilot, then one draw in every cell, in memory that does not grow with them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt
import torch

from attribound.bounds.scan import Grid, Pilot, Tally, plan_grid
from attribound.bounds.scan.tally import Windows
from attribound.changes.base import Continuous
from attribound.checks import FloatArray
from attribound.errors import ArgumentError
from attribound.randomness import Purpose, seed_from, stream
from attribound.sampling.along import Along
from attribound.sampling.witness import Witness

Progress = Callable[[int, int], None]

PILOT = 5
"""One in this number of draws is the pilot's."""

_CHUNK_ROWS = 256
_CHUNK_NUMBERS = 2**24
_FIELD = 2**20
"""Parts of the streams from here on are the field's own randomness."""


@final
@dataclass(frozen=True)
class Scan:
    """How a change is scanned.

    Attributes:
        along: the family of maps.
        samples: draws in all, the pilot included.
        window: half-width of the windows, in the change's parameter.
        label: the class that is counted.
        seed: of the draws.
        item: number of the input; draws depend on (seed, item, change).
    """

    along: Along
    samples: int
    window: float
    label: int
    seed: int
    item: int = 0

    @property
    def change(self) -> Continuous:
        """The change, which must have a range."""
        change = self.along.change
        if not isinstance(change, Continuous):
            raise ArgumentError(f"{change.name} has no range to scan: its alternatives are listed")
        return change

    def run(self, size: int, reference: FloatArray | None = None, progress: Progress | None = None) -> Windows:
        """Draw and add up.

        Args:
            size: numbers in a map.
            reference: (m,) the map that others are compared with; None: the pilot's mean in the window at 0.
            progress: called with (draws done, draws planned).
        """
        grid = self._grid(size)
        told = _Told(progress, self.draws(grid), Witness(self.seed, self.item))
        tally = Tally(self._pilot(grid, size, told).design(reference))
        self._round(grid, tally, told)
        told.witness.check()
        return tally.windows()

    def shown(self, size: int) -> FloatArray:
        """The map shown, from the same pilot draws as `run` makes: their mean in the window at 0."""
        grid = self._grid(size)
        told = _Told(None, self.draws(grid), Witness(self.seed, self.item))
        reference: FloatArray = self._pilot(grid, size, told).design(None).reference
        told.witness.check()
        return reference

    def _grid(self, size: int) -> Grid:
        low, high = self.change.low, self.change.high
        if self.change.mirrored and low != 0:
            raise ArgumentError(f"expected a range from 0 for {self.change.name}, which has t >= 0 only, got {low:g}")
        return plan_grid(low=low, high=high, window=self.window, draws=self.samples - self.samples // PILOT, size=size)

    def draws(self, grid: Grid) -> int:
        """Draws of the pilot and of one round."""
        return grid.draws + grid.bins * self._per_bin(grid)

    def _per_bin(self, grid: Grid) -> int:
        return max(self.samples // PILOT // grid.bins, 2)

    def _pilot(self, grid: Grid, size: int, told: "_Told") -> Pilot:
        count = self._per_bin(grid)
        pilot = Pilot(grid, size, self.along.field.limit)
        uniform = self._uniform(0, grid.bins, count)
        for number in range(grid.bins):
            parameters = self._parameters(grid.pilot_parameters(number, uniform[number]))
            for rows in _chunks(count, size):
                seen = self._look(parameters[rows], told)
                pilot.add(number, parameters[rows], *seen)
        return pilot

    def _round(self, grid: Grid, tally: Tally, told: "_Told") -> None:
        """One draw in every cell; what is drawn in one block is added up together."""
        groups = np.arange(grid.groups)
        parameters = self._parameters(grid.parameters(groups, self._uniform(1, grid.groups, grid.cells)).reshape(-1))
        names = np.repeat(groups, grid.cells)
        for rows in _chunks(grid.draws, tally.size):
            maps, hits = self._look(parameters[rows], told)
            blocks = names[rows] // tally.block_groups
            for block in np.unique(blocks):
                mine = blocks == block
                tally.add(names[rows][mine], maps[mine], hits[mine])

    def _look(self, parameters: FloatArray, told: "_Told") -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        generator = self._stream(_FIELD + told.chunks)
        seen = self.along.look(torch.from_numpy(parameters), generator, told.witness)
        told.more(len(parameters))
        return seen.maps.numpy(), (seen.classes == self.label).numpy()

    def _parameters(self, drawn: FloatArray) -> FloatArray:
        """Where t >= 0 only has a meaning, |t|."""
        return np.abs(drawn) if self.change.mirrored else drawn

    def _uniform(self, part: int, *shape: int) -> FloatArray:
        uniform: FloatArray = torch.rand(shape, generator=self._stream(part, "cpu"), dtype=torch.float64).numpy()
        return uniform

    def _stream(self, part: int, device: torch.device | str | None = None) -> torch.Generator:
        """Each change of each item has streams of its own, the same alone and in a sheet."""
        item = (self.item << 48) + seed_from(self.change.spec.encode())
        return stream(Purpose.SCAN, self.seed, item, part, device or self.along.x.device)


class _Told:
    """Counts draws and chunks, tells how far the scan is, and watches its calls."""

    def __init__(self, progress: Progress | None, planned: int, witness: Witness) -> None:
        self._progress, self._planned, self._done, self.chunks = progress, planned, 0, 0
        self.witness = witness

    def more(self, draws: int) -> None:
        self._done, self.chunks = self._done + draws, self.chunks + 1
        if self._progress:
            self._progress(self._done, self._planned)


def _chunks(count: int, size: int) -> list[slice]:
    """Rows that are looked at together: few enough for memory."""
    rows = max(min(_CHUNK_ROWS, _CHUNK_NUMBERS // size), 1)
    return [slice(start, start + rows) for start in range(0, count, rows)]
