"""The pilot of a scan: draws that may be looked at freely. They fix everything that the scan's own draws may not."""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from attribound.bounds.scan.directions import ROUNDING, Cone, unit
from attribound.bounds.scan.grid import Grid
from attribound.bounds.scan.loss import best_bets, best_share_bets
from attribound.checks import FloatArray

DENSE = 256
"""Numbers in a map up to which second moments are kept as matrices."""

_GRAM_ROWS = 64
_LEAST_SPREAD = 1e-4
"""Spread allowed for where the pilot shows none."""


@final
@dataclass(frozen=True)
class Design:
    """All that is fixed before the scan's draws.

    Attributes:
        grid: where the scan looks.
        limit: no map is longer than this; everything below is divided by it.
        reference: (m,) w, of length 1; zeros if there is none, and then nothing is proved.
        means: (bins, m) local means of the pilot.
        moments: (bins, m, m) local covariances of the pilot, or (bins,) their largest eigenvalues for large maps.
        shares: (bins,) the part of the pilot that had the class asked for.
    """

    grid: Grid
    limit: float
    reference: FloatArray
    means: FloatArray
    moments: FloatArray
    shares: FloatArray

    @property
    def size(self) -> int:
        """Numbers in a map."""
        return len(self.reference)

    @cached_property
    def _weights(self) -> FloatArray:
        """(groups, bins) linear interpolation between the middles of the bins."""
        grid = self.grid
        at = np.clip((grid.middles - grid.low) / grid.bin_width - 0.5, 0, grid.bins - 1)
        first = np.minimum(at.astype(np.int64), grid.bins - 2)
        weights = np.zeros((grid.groups, grid.bins))
        rows = np.arange(grid.groups)
        weights[rows, first], weights[rows, first + 1] = 1 - (at - first), at - first
        return weights

    def centres(self, groups: npt.NDArray[np.int64]) -> FloatArray:
        """(k, m) the centre of every draw in these groups."""
        centres: FloatArray = self._weights[groups] @ self.means
        return centres

    @cached_property
    def _centre_parts(self) -> tuple[FloatArray, FloatArray]:
        """(groups,) parts of the centres along the reference, and lengths of the parts across it."""
        along = self._weights @ (self.means @ self.reference)
        squares = ((self._weights @ (self.means @ self.means.T)) * self._weights).sum(axis=1)
        return along, np.sqrt(np.maximum(squares - along**2, 0.0))

    def least(self, cone: Cone) -> FloatArray:
        """(J,) B: no draw in a position's window is further than this below its centre along any direction of E."""
        along, across = self._centre_parts
        largest = _window_maxima(cone.largest(along, across), 2 * self.grid.half)
        return 1 + ROUNDING + np.maximum(largest, 0.0)

    def bets(self, cone: Cone, alpha: float, least: FloatArray) -> FloatArray:
        """(J,) kappa of every position, for an event that may fail with probability alpha; least: B."""
        spread = self._at_positions(self._spreads(cone))
        return best_bets(spread, least=least, draws=self.grid.per_window, alpha=alpha)

    def share_bets(self, floor: float) -> FloatArray:
        """(J,) bets that the class has more than `floor` of a position's window; one more miss than the pilot saw."""
        return best_share_bets(0.99 * self._at_positions(self.shares), floor)

    def _spreads(self, cone: Cone) -> FloatArray:
        """(bins,) guessed second moments along the dangerous direction, where the local mean has turned to."""
        if self.moments.ndim == 1:
            return self.moments + _LEAST_SPREAD
        along = self.means @ self.reference
        across = self.means - along[:, None] * self.reference
        lengths = np.sqrt((across**2).sum(axis=1, keepdims=True))
        direction = cone.sine * self.reference - cone.cosine * across / np.where(lengths == 0, 1.0, lengths)
        spread: FloatArray = np.einsum("bi,bij,bj->b", direction, self.moments, direction) + _LEAST_SPREAD
        return spread

    def _at_positions(self, values: FloatArray) -> FloatArray:
        """(J,) means over the positions' windows of values given by bin."""
        total = np.concatenate([[0.0], np.cumsum(self._weights @ values)])
        width = 2 * self.grid.half
        means: FloatArray = (total[width:] - total[:-width]) / width
        return means


@final
class Pilot:
    """Collects the pilot's draws, bin by bin, in flat memory."""

    def __init__(self, grid: Grid, size: int, limit: float) -> None:
        self._grid, self._limit = grid, limit
        self._counts, self._sums = np.zeros(grid.bins), np.zeros((grid.bins, size))
        self._moments = np.zeros((grid.bins, size, size)) if size <= DENSE else np.zeros(grid.bins)
        self._hits = np.zeros(grid.bins)
        self._near, self._near_sum = 0, np.zeros(size)

    def add(self, number: int, parameters: FloatArray, maps: FloatArray, hits: npt.NDArray[np.bool_]) -> None:
        """Take in draws of one bin.

        Args:
            number: of the bin.
            parameters: (k,) where they were drawn.
            maps: (k, m) the maps.
            hits: (k,) whether the model gave the class asked for.
        """
        rows = maps / self._limit
        near = np.abs(parameters) <= self._grid.window
        self._near, self._near_sum = self._near + int(near.sum()), self._near_sum + rows[near].sum(axis=0)
        self._counts[number] += len(rows)
        self._sums[number] += rows.sum(axis=0)
        self._hits[number] += hits.sum()
        if self._moments.ndim == 3:
            self._moments[number] += rows.T @ rows
        else:
            some = rows[:_GRAM_ROWS] - rows[:_GRAM_ROWS].mean(axis=0)
            self._moments[number] = np.linalg.eigvalsh(some @ some.T)[-1] / max(len(some) - 1, 1)

    def shown(self) -> FloatArray:
        """(m,) the mean of the draws in the window at 0, over the limit."""
        mean: FloatArray = self._near_sum / max(self._near, 1)
        return mean

    def design(self, reference: FloatArray | None = None) -> Design:
        """What the scan is made with: about the map shown, or a reference (m,) that was fixed before."""
        aim = self.shown() if reference is None else np.asarray(reference, np.float64).reshape(-1)
        means = self._sums / self._counts[:, None]
        return Design(
            grid=self._grid,
            limit=self._limit,
            reference=unit(aim),
            means=means,
            moments=self._covariances(means),
            shares=self._hits / self._counts,
        )

    def _covariances(self, means: FloatArray) -> FloatArray:
        if self._moments.ndim == 1:
            return self._moments
        scatter = self._moments - self._counts[:, None, None] * means[:, :, None] * means[:, None, :]
        covariances: FloatArray = scatter / np.maximum(self._counts - 1, 1)[:, None, None]
        return covariances


def _window_maxima(values: FloatArray, width: int) -> FloatArray:
    """The largest of every `width` neighbouring values."""
    filtered = ndimage.maximum_filter1d(values, width, origin=-(width // 2))
    maxima: FloatArray = filtered[: len(values) - width + 1]
    return maxima
