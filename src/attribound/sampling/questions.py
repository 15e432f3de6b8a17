"""Questions at which sampling may stop: each looks at the evidence so far and says whether it is settled."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

from attribound import checks as check
from attribound.bounds.evidence import Evidence
from attribound.bounds.features import top_k_kept
from attribound.checks import FloatArray


class Question(ABC):
    """What sampling is to settle."""

    @abstractmethod
    def settled(self, evidence: Evidence, sampled: FloatArray) -> bool:
        """Whether the evidence proves it.

        Args:
            evidence: what is known.
            sampled: the sampled map.
        """


@final
@dataclass(frozen=True)
class CosineAt(Question):
    """Is `cosine` certified at `epsilon`?"""

    cosine: float
    epsilon: float

    def __post_init__(self) -> None:
        check.fraction("until's cosine", self.cosine)
        check.positive("until's epsilon", self.epsilon)

    def settled(self, evidence: Evidence, sampled: FloatArray) -> bool:
        """By any rule."""
        return float(evidence.cosine(self.epsilon)) >= self.cosine


@final
@dataclass(frozen=True)
class TopK(Question):
    """Are the k largest cells of the sampled map the k largest of the exact one, after any change up to epsilon?

    With epsilon 0 (the default): were enough draws taken to know which cells are the k largest?
    """

    k: int
    epsilon: float = 0.0

    def __post_init__(self) -> None:
        check.count("until's k", self.k)
        check.non_negative("until's epsilon", self.epsilon)

    def settled(self, evidence: Evidence, sampled: FloatArray) -> bool:
        """By the error bars or the ball around the map."""
        return top_k_kept(evidence, sampled, self.k, self.epsilon) == self.k
