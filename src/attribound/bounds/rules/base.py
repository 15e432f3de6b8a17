"""The one interface of rules: from evidence and epsilon to what is certified."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np
import numpy.typing as npt

from attribound.bounds.facts import Fact
from attribound.bounds.tight import VACUOUS
from attribound.checks import FloatArray

if TYPE_CHECKING:
    from attribound.bounds.evidence import Evidence

ROUNDING = 1e-12
"""Certified cosines are lowered and displacements raised by this, far more than float64 loses."""


class Rule(ABC):
    """A theorem that turns facts into certificates.

    `cosine` and `displacement` take arrays that broadcast: evidence (N, 1) and epsilon (E,) give (N, E).

    Attributes:
        name: as records and people call it.
        words: what it rests on, in words.
        needs: the facts without which it says nothing.
        rounded: whether its cosines are exact thresholds, rounded where they were derived.
        searches: whether it looks for the best of many bounds, so that it is asked last.
    """

    name: ClassVar[str]
    words: ClassVar[str]
    needs: ClassVar[tuple[type[Fact], ...]]
    rounded: ClassVar[bool] = False
    searches: ClassVar[bool] = False

    @property
    def quick(self) -> "Rule":
        """The rule for checks of stated answers: it may prove a little less, in less time."""
        return self

    def applies(self, evidence: "Evidence") -> bool:
        """Whether all facts are there; a rule for some laws only asks the law for what it needs."""
        return all(fact in evidence.facts for fact in self.needs)

    @abstractmethod
    def cosine(self, evidence: "Evidence", epsilon: FloatArray) -> FloatArray:
        """Lower bound on the cosine between the maps before and after any change up to epsilon; -1.0: nothing."""

    @final
    def certified(self, evidence: "Evidence", epsilon: FloatArray) -> FloatArray:
        """`cosine`, lowered by more than float64 loses unless the rule rounded by itself; never below 0 if above -1."""
        cosine = np.asarray(self.cosine(evidence, epsilon))
        return np.where(cosine > VACUOUS, np.maximum(cosine - (0.0 if self.rounded else ROUNDING), 0.0), VACUOUS)

    def start(self, evidence: "Evidence", cosine: float) -> FloatArray:
        """Where the search for the largest epsilon at a cosine may begin: a guess, shaped like the norm's bound."""
        return np.zeros(np.shape(evidence.norm_lower) or 1)

    def clear(self, evidence: "Evidence") -> npt.NDArray[np.bool_]:
        """(N,) of stacked evidence: where `problems` would say nothing; may be False there, never True elsewhere."""
        return np.full(len(np.atleast_1d(evidence.norm_lower)), type(self).problems is Rule.problems)

    def problems(self, evidence: "Evidence") -> list[str]:
        """Stored facts that do not follow from others, in words."""
        return []

    @abstractmethod
    def displacement(self, evidence: "Evidence", epsilon: FloatArray) -> FloatArray:
        """Upper bound on the distance between the two maps; infinity: nothing."""
