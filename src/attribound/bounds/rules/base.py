"""The one interface of rules: from evidence and epsilon to what is certified."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from attribound.bounds.facts import Fact
from attribound.checks import FloatArray

if TYPE_CHECKING:
    from attribound.bounds.evidence import Evidence


class Rule(ABC):
    """A theorem that turns facts into certificates.

    `cosine` and `displacement` take arrays that broadcast: evidence (N, 1) and epsilon (E,) give (N, E).

    Attributes:
        name: as records and people call it.
        words: what it rests on, in words.
        needs: the facts without which it says nothing.
    """

    name: ClassVar[str]
    words: ClassVar[str]
    needs: ClassVar[tuple[type[Fact], ...]]

    def applies(self, evidence: "Evidence") -> bool:
        """Whether all facts are there; a rule for some laws only asks the law for what it needs."""
        return all(fact in evidence.facts for fact in self.needs)

    @abstractmethod
    def cosine(self, evidence: "Evidence", epsilon: FloatArray) -> FloatArray:
        """Lower bound on the cosine between the maps before and after any change up to epsilon; -1.0: nothing."""

    @abstractmethod
    def displacement(self, evidence: "Evidence", epsilon: FloatArray) -> FloatArray:
        """Upper bound on the distance between the two maps; infinity: nothing."""
