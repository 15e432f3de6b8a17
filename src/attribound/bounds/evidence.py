"""Evidence: everything that certificates follow from. It holds no draws and no model.

A stored certificate is checked by rebuilding its evidence and asking again. Evidence may be about one explanation
(numbers) or about N with the same law at once (arrays (N, 1)); epsilons are numbers or arrays that broadcast with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, final

import numpy as np
import numpy.typing as npt

from attribound.bounds.budgets import PLAIN, Budget
from attribound.bounds.facts import Closeness, Fact, Length, Numbers, Spread
from attribound.bounds.laws import Law
from attribound.bounds.rules import RULES
from attribound.bounds.rules.base import ROUNDING, Rule
from attribound.bounds.threshold import largest_argument
from attribound.bounds.tight import VACUOUS
from attribound.checks import FloatArray
from attribound.errors import ArgumentError

F = TypeVar("F", bound=Fact)


@final
@dataclass(frozen=True)
class Evidence:
    """What is known about a smoothed attribution, all of it at once with probability at least 1 - alpha.

    Attributes:
        law: the law of the noise, in unit coordinates.
        limit: upper bound on the field's norm.
        facts: what the draws proved, by type.
        budget: what epsilon counts.
    """

    law: Law
    limit: Numbers
    facts: Mapping[type[Fact], Fact] = field(default_factory=dict)
    budget: Budget = PLAIN

    @classmethod
    def of(cls, law: Law, limit: float, *facts: Fact, budget: Budget = PLAIN) -> "Evidence":
        """Evidence from facts of different types."""
        return cls(law, limit, {type(fact): fact for fact in facts}, budget)

    @classmethod
    def stack(cls, members: Sequence["Evidence"]) -> "Evidence":
        """Evidence about N explanations at once, for the rules; all must have the same `family`."""
        first = members[0]
        if any(one.family != first.family for one in members):
            raise ArgumentError("expected evidence with one law and the same facts to be stacked")
        facts = {kind: kind.stack([one.facts[kind] for one in members]) for kind, _ in first.family[-1]}
        return cls(first.law, np.array([one.limit for one in members], np.float64)[:, None], facts, first.budget)

    @classmethod
    def join(cls, parts: Sequence["Evidence"]) -> "Evidence":
        """Stacked evidence about more explanations; all parts must have the same `shape`."""
        first = parts[0]
        facts = {kind: kind.join([one.facts[kind] for one in parts]) for kind in first.facts}
        return cls(first.law, np.concatenate([np.asarray(one.limit) for one in parts]), facts, first.budget)

    @property
    def shape(self) -> tuple[Law, Budget, frozenset[tuple[type[Fact], tuple[int, ...]]]]:
        """What stacked evidences must share to be joined."""
        shapes = ((kind, np.shape(next(iter(vars(one).values()), ()))[1:]) for kind, one in self.facts.items())
        return self.law, self.budget, frozenset(shapes)

    def rows(self, places: npt.NDArray[np.intp]) -> "Evidence":
        """Of stacked evidence, that about some of the explanations."""
        facts = {kind: fact.rows(places) for kind, fact in self.facts.items()}
        return Evidence(self.law, np.asarray(self.limit)[places], facts, self.budget)

    @property
    def family(self) -> tuple[Law, Budget, frozenset[tuple[type[Fact], int]]]:
        """What evidences must share to be stacked: law, budget, and facts, with widths, that are not about cells."""
        kinds = ((kind, one.width) for kind, one in self.facts.items() if not kind.cellwise)
        return self.law, self.budget, frozenset(kinds)

    def fact(self, kind: type[F]) -> F:
        """The fact of that type; asking for one that is not there is a mistake of the caller."""
        found = self.facts[kind]
        assert isinstance(found, kind)
        return found

    # --- numbers that several rules use --------------------------------------------------------------------

    @property
    def norm_lower(self) -> Numbers:
        """Lower bound on the map's norm."""
        return self.fact(Length).lower

    @property
    def norm_upper(self) -> FloatArray:
        """Upper bound on the map's norm: the sampled norm and its error, never above the limit."""
        if Closeness not in self.facts:
            return np.asarray(self.limit, np.float64)
        return np.minimum(self.fact(Length).sampled + np.asarray(self.fact(Closeness).radius), self.limit)

    @property
    def eigenvalue(self) -> FloatArray:
        """The eigenvalue bound, never above limit^2 - norm^2 (rounded up), which bounds the whole trace.

        Nor so small that it would rest on the last digits of the norm: a field is never taken for exactly constant.
        """
        square = np.asarray(self.limit, np.float64) ** 2
        trace = square * (1 + ROUNDING) - np.asarray(self.norm_lower) ** 2 * (1 - ROUNDING)
        known = self.fact(Spread).eigenvalue if Spread in self.facts else np.inf
        return np.maximum(np.minimum(known, trace), ROUNDING * square)

    def moved_fraction(self, epsilon: Numbers) -> FloatArray:
        """Fraction of the noise moved by a shift of length epsilon, rounded up."""
        return np.minimum(self.law.moved_fraction(epsilon) * (1 + ROUNDING), 1.0)

    # --- answers -------------------------------------------------------------------------------------------

    def cosines(self, epsilon: Numbers, rules: Sequence[Rule] = RULES) -> dict[str, FloatArray]:
        """The cosine certified by each rule that applies, by its name; -1.0 where a rule says nothing."""
        shift = np.asarray(epsilon, np.float64)
        return {rule.name: rule.certified(self, shift) for rule in rules if rule.applies(self)}

    def cosine(self, epsilon: Numbers, rules: Sequence[Rule] = RULES) -> FloatArray:
        """The largest certified cosine; -1.0 where no rule says anything."""
        return np.asarray(np.max(np.stack(np.broadcast_arrays(*self.cosines(epsilon, rules).values())), axis=0))

    def holds(self, cosine: float, epsilon: Numbers, rules: Sequence[Rule] = RULES) -> npt.NDArray[np.bool_]:
        """Where `cosine(epsilon)` is at least `cosine`; rules that search are asked only if others do not say it."""
        shift, proved = np.asarray(epsilon, np.float64), np.asarray(False)
        for rule in sorted(rules, key=lambda rule: rule.searches):
            if rule.applies(self) and not (proved.ndim and proved.all()):
                proved = np.asarray(proved | (rule.certified(self, shift) >= cosine))
        return proved

    def rule_at(self, epsilon: float) -> str | None:
        """The rule that gives the largest cosine; None if no rule says anything."""
        cosines = self.cosines(epsilon)
        best = max(cosines, key=lambda name: float(cosines[name]))
        return best if float(cosines[best]) > VACUOUS else None

    def displacement(self, epsilon: Numbers, rules: Sequence[Rule] = RULES) -> FloatArray:
        """How far the map itself can move: ||h(x + delta) - h(x)|| for every ||delta|| <= epsilon."""
        shift = np.asarray(epsilon, np.float64)
        radii = [np.asarray(rule.displacement(self, shift)) for rule in rules if rule.applies(self)]
        return np.asarray(np.min(np.stack(np.broadcast_arrays(*radii)), axis=0) * (1 + ROUNDING))

    def max_epsilon(self, cosine: float) -> FloatArray:
        """The largest epsilon whose certified cosine is at least `cosine`; 0.0 where there is none.

        Every answer above 0 was itself found to be certified: `cosine(max_epsilon(T)) >= T`.
        """
        if not 0.0 <= cosine <= 1.0:
            raise ArgumentError(f"expected `cosine` in [0, 1], got {cosine:g}")
        shape = np.shape(self.norm_lower)
        low, high = np.zeros(shape or 1), np.full(shape or 1, self.law.reach)
        if not np.any(np.asarray(self.norm_lower) > 0):
            return low.reshape(shape)
        for rule in RULES:
            start = np.minimum(rule.start(self, cosine), high) if rule.applies(self) else low
            if np.any(start > low):
                low = np.where((start > low) & self.holds(cosine, start), start, low)
        tolerance = 1e-12 * self.law.value
        if np.any(low > 0):  # most often a start was the answer
            beyond = np.minimum(low + tolerance, high)
            high = np.where((low > 0) & ~self.holds(cosine, beyond), beyond, high)
        return largest_argument(self.cosine, cosine, low, high, tolerance).reshape(shape)
