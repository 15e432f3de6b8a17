"""Search a scanned change for the window whose mean is worst, with draws of its own, and test it with fresh ones."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import torch

from attribound.bounds.scan.directions import Cone, unit
from attribound.checks import FloatArray
from attribound.randomness import Purpose
from attribound.sampling.listed import cosines_with
from attribound.sampling.scan import Scan
from attribound.sampling.stratified import Stratified, WindowMeans

POSITIONS = 33
"""Windows looked at in an interval, both ends included: over all of a range, four or more in each default window."""
_PARTS = 2**20
"""Parts of the streams for each set of fresh draws."""
_LEAST_ERROR = 1e-6
"""Of a mean: where draws do not differ, rounding does."""


@final
@dataclass(frozen=True)
class Worst:
    """The worst window of some.

    Attributes:
        t: where, in the change's parameter.
        value: the cosine of the mean over the window, or the share of the class in it, from fresh draws.
        errors: by how many standard errors the claim holds there; negative: by how many it fails.
    """

    t: float
    value: float
    errors: float


@final
@dataclass(frozen=True)
class WindowSearch:
    """Means over the windows of a scan, from other draws than the scan's.

    Attributes:
        scan: what is searched; its own draws are not made.
        reference: (m,) the map that others are compared with.
        draws: of the search.
        fresh: draws for each of the two means that decide.
        seed: of the draws.
    """

    scan: Scan
    reference: FloatArray
    draws: int
    fresh: int
    seed: int

    def look(self, positions: FloatArray) -> WindowMeans:
        """The means over the windows at positions, all from the same draws."""
        source, places = self._source(Purpose.ATTACK), torch.from_numpy(positions)
        return source.means(places, self.scan.window, self.draws, label=self.scan.label)

    def cosines(self, means: WindowMeans) -> FloatArray:
        """Their cosines with the reference; 1 where no draw is in a window."""
        return np.where(means.counts.numpy() > 0, cosines_with(means.maps.numpy(), self.reference), 1.0)

    def worst_cosine(self, positions: FloatArray, means: WindowMeans, cosine: float) -> Worst:
        """The window that is turned furthest, and whether fresh draws contradict a cosine there.

        Let h be the exact mean, w the reference and e = sin(theta) w - cos(theta) v for any v across w. If the cosine
        of h and w is at least cos(theta), then <e, h> >= 0. One half of the fresh draws chooses v, the other estimates
        <e, h>: a mean of numbers that nothing was chosen by, so it is not biased as the cosine of a sampled mean is.
        Their spread is at least that of stratified draws, so the standard error is rather too large than too small.
        """
        t = float(positions[int(self.cosines(means).argmin())])
        first = self._fresh().means(torch.tensor([t], dtype=torch.float64), self.scan.window, self.fresh).maps[0]
        before, direction = first.numpy(), _towards(first.numpy(), self.reference, cosine)
        along, total = list[FloatArray](), np.zeros(len(before))
        for drawn in self._fresh().chunks(t, self.scan.window, self.fresh, part=_PARTS):
            maps: FloatArray = drawn.maps.numpy()
            along.append(maps @ direction)
            total += maps.sum(axis=0)
        values = np.concatenate(along)
        error = max(float(values.std(ddof=1)) / math.sqrt(len(values)), _LEAST_ERROR)
        return Worst(t, _cosine(before, total / len(values), self.reference), float(values.mean()) / error)

    def worst_share(self, positions: FloatArray, means: WindowMeans) -> Worst:
        """The window with the smallest share of the class, and whether fresh draws contradict its majority there."""
        t = float(positions[int(np.where(means.counts.numpy() > 0, means.shares.numpy(), 1.0).argmin())])
        count, place = 2 * self.fresh, torch.tensor([t], dtype=torch.float64)
        again = self._fresh().means(place, self.scan.window, count, label=self.scan.label, part=2 * _PARTS)
        share = float(again.shares[0])
        return Worst(t, share, (share - 0.5) * 2 * math.sqrt(count))

    def _fresh(self) -> Stratified:
        return self._source(Purpose.SCORE)

    def _source(self, purpose: Purpose) -> Stratified:
        return Stratified(self.scan.along, purpose, self.seed, self.scan.item)


def _towards(mean: FloatArray, reference: FloatArray, cosine: float) -> FloatArray:
    """The direction at a cosine from the reference, on the side away from a mean: negative where that is too far."""
    w = unit(reference)
    across = unit(mean - float(mean @ w) * w)
    direction: FloatArray = Cone(cosine).sine * w - cosine * across
    return direction


def _cosine(first: FloatArray, second: FloatArray, reference: FloatArray) -> float:
    """Of the mean of two independent means: the squared length is their product, as sampled means are too long."""
    both, square = (first + second) / 2, float(first @ second)
    if square <= 0:
        return float(cosines_with(both[None], reference)[0])
    return max(min(float(both @ unit(reference)) / math.sqrt(square), 1.0), -1.0)
