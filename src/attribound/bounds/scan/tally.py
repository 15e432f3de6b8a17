"""The scan's own draws: sums by group, second moments by block of groups, in memory that does not grow with draws."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from attribound.bounds.scan.pilot import DENSE, Design
from attribound.checks import FloatArray
from attribound.errors import ArgumentError

_BLOCKS, _LARGE_BLOCKS = 32, 8
"""Blocks in one window, for small and for large maps."""

_SMALL = 64
_BATCH = 64
"""Rows of one Gram matrix."""

_EIGENVALUE = 1e-9
"""Allowance for rounding in an eigenvalue, relative to the trace."""


@final
@dataclass(frozen=True)
class Axes:
    """Second moments S of every cover, split into the reference w and the eigenvectors of what lies across it.

    Attributes:
        values: (covers, m) eigenvalues of S across w.
        inside: (covers,) w^T S w.
        aside: (covers, m) the part of S w across w, in the eigenvectors.
        across: (J, m) the parts of the window means across w, in the eigenvectors of their cover.
    """

    values: FloatArray
    inside: FloatArray
    aside: FloatArray
    across: FloatArray


@final
@dataclass(frozen=True)
class Windows:
    """What is known about the window of every position, over the limit.

    Attributes:
        design: what was fixed before.
        along: (J,) parts of the windows' means along the reference.
        across: (J,) lengths of the parts across it.
        means: (J, m) the means themselves, for small maps; (0, m) for large ones.
        shares: (J,) the part of these draws that had the class asked for.
        draws: draws in a window, n K.
        covers: (J,) which cover of a window each position uses.
        moments: (covers, m, m) at least the second moments about the centres, in every direction; or (covers,) at
            least their largest eigenvalues.
    """

    design: Design
    along: FloatArray
    across: FloatArray
    means: FloatArray
    shares: FloatArray
    draws: int
    covers: npt.NDArray[np.int64]
    moments: FloatArray

    @cached_property
    def axes(self) -> "Axes":
        """The windows in the eigenvectors of their second moments; all cosines and angles share them."""
        reference = self.design.reference
        flat = np.eye(len(reference)) - np.outer(reference, reference)
        values, vectors = np.linalg.eigh(flat @ self.moments @ flat)
        pull = self.moments @ reference
        rest = self.means - self.along[:, None] * reference
        across = np.empty_like(rest)
        for cover, basis in enumerate(vectors):
            mine = self.covers == cover
            across[mine] = rest[mine] @ basis
        return Axes(np.maximum(values, 0.0), pull @ reference, np.einsum("ci,cij->cj", pull @ flat, vectors), across)

    @property
    def angles(self) -> FloatArray:
        """(J,) sampled angles to the reference, in radians."""
        angles: FloatArray = np.arctan2(self.across, self.along)
        return angles


@final
class Tally:
    """Adds up the scan's draws. Rounds must be whole: every cell has as many draws as every other."""

    def __init__(self, design: Design) -> None:
        grid, size = design.grid, design.size
        self._design = design
        per_window = _BLOCKS if size <= _SMALL else (_BLOCKS // 2 if size <= DENSE else _LARGE_BLOCKS)
        self.block_groups = max(2 * grid.half // per_window, 1)
        """Groups of a block; draws that are added together belong to one block."""
        self.blocks = -(-grid.groups // self.block_groups)
        self._sums = np.zeros((grid.groups, size))
        self._moments = np.zeros((self.blocks, size, size)) if size <= DENSE else np.zeros(self.blocks)
        self._hits, self._counts = np.zeros(grid.groups), np.zeros(grid.groups, np.int64)

    @property
    def size(self) -> int:
        """Numbers in a map."""
        return self._design.size

    def groups_of(self, block: int) -> npt.NDArray[np.int64]:
        """The groups of a block."""
        first = block * self.block_groups
        return np.arange(first, min(first + self.block_groups, self._design.grid.groups))

    def add(self, groups: npt.NDArray[np.int64], maps: FloatArray, hits: npt.NDArray[np.bool_]) -> None:
        """Take in draws of one block.

        Args:
            groups: (k,) the group of each draw.
            maps: (k, m) the maps.
            hits: (k,) whether the model gave the class asked for.
        """
        rows = maps / self._design.limit
        block = int(groups[0]) // self.block_groups
        if (groups // self.block_groups != block).any():
            raise ArgumentError(f"expected draws of one block, got groups {groups.min()} to {groups.max()}")
        np.add.at(self._sums, groups, rows)
        np.add.at(self._hits, groups, hits)
        np.add.at(self._counts, groups, 1)
        apart = rows - self._design.centres(groups)
        if self._moments.ndim == 3:
            self._moments[block] += apart.T @ apart
        else:
            for start in range(0, len(apart), _BATCH):
                self._moments[block] += _largest(apart[start : start + _BATCH])

    def windows(self) -> Windows:
        """The windows of all positions after whole rounds."""
        grid = self._design.grid
        rounds = int(self._counts[0]) // grid.cells
        if rounds < 1 or (self._counts != rounds * grid.cells).any():
            raise ArgumentError(
                "expected whole rounds: as many draws in every cell as in every other, and at least one"
            )
        draws = rounds * grid.per_window
        reference, width = self._design.reference, 2 * grid.half
        along, across, means = [], [], []
        for total in _sliding(self._sums, width):
            mean = total / draws
            along.append(float(mean @ reference))
            across.append(float(np.linalg.norm(mean - along[-1] * reference)))
            if self._moments.ndim == 3:
                means.append(mean)
        covers, moments = self._covers()
        return Windows(
            design=self._design,
            along=np.array(along),
            across=np.array(across),
            means=np.array(means).reshape(-1, self.size),
            shares=np.array([float(hits) for hits in _sliding(self._hits, width)]) / draws,
            draws=draws,
            covers=covers,
            moments=moments / draws,
        )

    def _covers(self) -> tuple[npt.NDArray[np.int64], FloatArray]:
        """For windows that start in the same block, all blocks that any of them meets.

        A sum of more squares is larger in every direction.
        """
        grid, width = self._design.grid, self.block_groups
        starts = np.arange(grid.left + grid.right + 1) // width
        first = np.arange(starts[-1] + 1)
        last = np.minimum(first * width + width + 2 * grid.half - 2, grid.groups - 1) // width
        total = np.concatenate([np.zeros_like(self._moments[:1]), np.cumsum(self._moments, axis=0)])
        return starts, total[last + 1] - total[first]


def _largest(rows: FloatArray) -> float:
    """At least the largest sum of squared projections of the rows on one direction."""
    gram = rows @ rows.T
    return float(np.linalg.eigvalsh(gram)[-1] + _EIGENVALUE * gram.trace())


def _sliding(rows: FloatArray, width: int) -> Iterator[FloatArray]:
    """Sums of `width` neighbouring rows, one after the other, in float64."""
    total = rows[:width].sum(axis=0)
    yield total
    for leaving, coming in zip(rows, rows[width:], strict=False):
        total = total - leaving + coming
        yield total
