"""Orders: how far the largest features of a map stay above the others, pair by pair."""

import math
from typing import final

import numpy as np

from attribound.bounds.orders import Orders, order_radii
from attribound.bounds.shares import SHARES
from attribound.checks import FloatArray
from attribound.errors import ArgumentError
from attribound.sampling.statistic import Draws, Facts, Setting, Statistic

MOST_CELLS = 1024
"""Pairs are counted one by one; larger maps are pooled, or grouped, before people ask for reasons."""

_THRESHOLDS = 200
_BELOW, _ABOVE = 6.0, 4.0
"""Thresholds reach this number of the pilot's standard deviations below and above its mean."""

_LEAST_SPREAD = 1e-6
"""Of the largest difference: draws without any spread still need thresholds that differ."""


@final
class PairOrders(Statistic):
    """Counts how often the pilot's k largest features exceed each other feature by how much (docs/theory/reasons.md).

    Which features, and the thresholds of their differences, are fixed on the pilot; only later draws are counted.
    """

    fact = Orders

    def __init__(self, k: int, share: float = SHARES["orders"]) -> None:
        self.share, self._k = share, k

    def start(self, pilot: Draws, setting: Setting) -> None:
        """Choose features and thresholds."""
        check_cells(self._k, setting.size)
        self._setting, self._tested = setting, 0
        maps = pilot.maps.numpy()
        self._places = np.argsort(-maps.mean(axis=0), kind="stable")[: self._k]
        differences, largest = self._differences(maps), math.sqrt(2.0) * setting.limit
        spread = np.maximum(differences.std(axis=0), _LEAST_SPREAD * largest)
        self._start = np.maximum(differences.mean(axis=0) - _BELOW * spread, -largest)
        self._step = (_BELOW + _ABOVE) / _THRESHOLDS * spread
        self._seen = np.zeros((self._start.size, _THRESHOLDS + 1), np.int64)

    def add(self, draws: Draws) -> None:
        """Count, for every pair, the highest threshold that a draw reaches."""
        differences = self._differences(draws.maps.numpy())
        reached = np.clip(np.floor((differences - self._start) / self._step) + 1, 0, _THRESHOLDS).astype(np.int64)
        pairs = np.arange(self._start.size)
        flat = (pairs * (_THRESHOLDS + 1) + reached.reshape(len(differences), -1)).ravel()
        self._seen += np.bincount(flat, minlength=self._seen.size).reshape(self._seen.shape)
        self._tested += len(differences)

    def prove(self, alpha: float, known: Facts) -> Orders | None:
        """Radii of all pairs, each threshold of each at an equal part of alpha."""
        if self._tested == 0:
            return None
        counts = np.cumsum(self._seen[:, ::-1], axis=1)[:, -2::-1].reshape(*self._start.shape, _THRESHOLDS)
        radius = order_radii(
            self._start,
            self._step,
            counts.astype(np.float64),
            tested=self._tested,
            limit=self._setting.limit,
            level=alpha / counts.size,
            law=self._setting.law,
        )
        radius[np.arange(self._k), self._places] = 0.0
        return Orders(self._places.astype(np.float64), radius, alpha)

    def _differences(self, maps: FloatArray) -> FloatArray:
        """(n, k, m) by how much each chosen feature exceeds each feature."""
        return maps[:, self._places, None] - maps[:, None, :]


def check_cells(k: int, size: int) -> None:
    """Raise ArgumentError unless a map of `size` cells can have k reasons whose order is counted."""
    if k >= min(size, MOST_CELLS):
        raise ArgumentError(f"expected fewer than {min(size, MOST_CELLS)} reasons of a map of {size} cells, got {k}")
    if size > MOST_CELLS:
        raise ArgumentError(
            f"expected a map of {k + 1} to {MOST_CELLS} cells for {k} reasons, got {size}: a map that is "
            "Pooled or Grouped, would do"
        )
