"""The tight theorem as a rule: norm, limit and moved fraction only."""

from typing import TYPE_CHECKING, final

import numpy as np

from attribound.bounds.facts import Length
from attribound.bounds.rules.base import Rule
from attribound.bounds.tight import cosine_bound
from attribound.checks import FloatArray

if TYPE_CHECKING:
    from attribound.bounds.evidence import Evidence


@final
class Tight(Rule):
    """Nothing larger follows from norm, limit and moved fraction (docs/theory/tight-bound.md)."""

    name, words, needs = "tight", "the tight theorem (length and limit)", (Length,)

    def cosine(self, evidence: "Evidence", epsilon: FloatArray) -> FloatArray:
        """See `bounds.tight`."""
        return np.asarray(cosine_bound(evidence.norm_lower, evidence.limit, evidence.moved_fraction(epsilon)))

    def displacement(self, evidence: "Evidence", epsilon: FloatArray) -> FloatArray:
        """What moves counts twice: once where it leaves, once where it arrives."""
        return np.asarray(2 * evidence.moved_fraction(epsilon) * evidence.limit)
