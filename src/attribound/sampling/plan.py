"""How much to sample, and what came of it."""

import math
from dataclasses import dataclass
from typing import Literal, final

from torch import Tensor

from attribound.bounds import confidence
from attribound.bounds.evidence import Evidence
from attribound.sampling.questions import Question
from attribound.sampling.statistic import Statistic

Stopped = Literal["budget", "proved", "futile"]


@final
@dataclass(frozen=True)
class Plan:
    """How much to sample.

    Attributes:
        samples: the most noise draws to take.
        alpha: failure probability of everything said about this input.
        until: stop as soon as this question is decided.
    """

    samples: int
    alpha: float
    until: Question | None = None

    def looks(self, chunks: int) -> set[int]:
        """Chunk counts at which the question is looked at before the last: a geometric sequence."""
        return {count for k in range(64) if (count := math.ceil(2 * 1.5**k)) < chunks} if self.until else set()

    def share(self, statistic: Statistic, look: int) -> float:
        """A statistic's share of alpha; one that holds at a fixed number of draws only spends it over the looks.

        Args:
            statistic: the statistic.
            look: number of the look; 0: the only one, with the whole share.
        """
        share = statistic.share * self.alpha
        return share if statistic.anytime or look == 0 else confidence.spend(share, look)


@final
@dataclass(frozen=True)
class Estimate:
    """The smoothed map and what is known about it, all at once with probability at least 1 - alpha.

    Attributes:
        map: the mean of all draws, float64, in the map's shape.
        evidence: law, limit and facts: what certificates follow from.
        samples: noise draws taken.
        draws: independent draws for the bounds (samples / block).
        stopped: "budget", or "proved" / "futile" when a question was decided early.
        seconds: wall-clock time.
    """

    map: Tensor
    evidence: Evidence
    samples: int
    draws: int
    stopped: Stopped
    seconds: float
