"""The prediction beside its explanation: how often the model gives one class to the noisy inputs."""

from typing import final

import torch

from attribound.bounds.cells import Majority
from attribound.bounds.shares import SHARES
from attribound.sampling.statistic import Draws, Facts, Setting, Statistic


@final
class ClassCount(Statistic):
    """Counts the pilot's most frequent class in the draws after it (Cohen et al. 2019; docs/theory/cells.md)."""

    fact = Majority

    def __init__(self, share: float = SHARES["prediction"]) -> None:
        self.share = share

    def start(self, pilot: Draws, setting: Setting) -> None:
        """The pilot chooses the class."""
        self._winner = None if pilot.classes is None else int(torch.bincount(pilot.classes).argmax())
        self._count, self._tested = 0, 0

    def add(self, draws: Draws) -> None:
        """Count it."""
        if draws.classes is not None and self._winner is not None:
            self._count += int((draws.classes == self._winner).sum())
            self._tested += len(draws.classes)

    def prove(self, alpha: float, known: Facts) -> Majority | None:
        """The counts; nothing without classes."""
        if self._winner is None or self._tested == 0:
            return None
        return Majority(float(self._winner), float(self._count), float(self._tested), alpha)
