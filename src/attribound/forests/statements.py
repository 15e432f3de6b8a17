"""What is to be kept: linear inequalities in SHAP values, of which enough must hold."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attribound.errors import ArgumentError
from attribound.forests.ensemble import BoolArray, FloatArray, IntArray
from attribound.forests.forest import Forest
from attribound.forests.groups import Reasons, make_reasons
from attribound.forests.shap import TreeShap
from attribound.rounding import exact_text


@dataclass(frozen=True, eq=False)
class Statement:
    """At least `needed` of the inequalities sum over outputs and columns of u w phi + offset > tie hold.

    Attributes:
        words: for people.
        reason: the name of the reason it speaks about, if it is one.
        outputs: (inequalities, outputs), u.
        columns: (inequalities, columns), w.
        offset: (inequalities,).
        tie: (inequalities,): what is not above it counts as lost, for the library may see it the other way.
        needed: how many must hold.
    """

    words: str
    reason: str | None
    outputs: FloatArray
    columns: FloatArray
    offset: FloatArray
    tie: FloatArray
    needed: int

    def margins(self, values: FloatArray) -> FloatArray:
        """Left sides less ties, (rows, inequalities), from SHAP values (rows, outputs, columns)."""
        sums = np.einsum("rok,io,ik->ri", values, self.outputs, self.columns, optimize=True)
        margins: FloatArray = sums + (self.offset - self.tie)
        return margins

    def holds(self, margins: FloatArray) -> BoolArray:
        """Whether enough inequalities hold, row by row; NaN never does."""
        enough: BoolArray = (margins > 0).sum(axis=-1) >= self.needed
        return enough


@dataclass(frozen=True, eq=False)
class Decision:
    """What a row was told: its class or side, and its reasons in order.

    Attributes:
        target: the output that is explained.
        side: 1 or -1: reasons are the contributions towards this side of the score.
        reasons: what counts as one reason.
        order: of the reasons, the first one first.
        values: SHAP values of all outputs, (outputs, columns).
        scores: of all outputs.
    """

    target: int
    side: int
    reasons: Reasons
    order: IntArray
    values: FloatArray
    scores: FloatArray

    @property
    def contributions(self) -> FloatArray:
        """Of every reason to the target."""
        summed: FloatArray = self.reasons.weights @ self.values[self.target]
        return summed

    @property
    def named(self) -> tuple[str, ...]:
        """The reasons, the first one first."""
        return tuple(self.reasons.names[number] for number in self.order)


def decide(
    shap: TreeShap,
    row: FloatArray,
    *,
    target: int | None,
    side: int | None,
    threshold: float,
    reasons: Reasons | None = None,
) -> Decision:
    """The decision about a row.

    Args:
        shap: of the forest.
        row: (columns,).
        target: the output to explain; None: the largest score.
        side: 1 or -1; None: towards the side of the threshold on which the score lies, above the mean for regression,
            and towards the class where there are several.
        threshold: of the score, for forests that decide by sides.
        reasons: what counts as one reason; None: every column.
    """
    values = shap.values(row[None])
    scores, forest = shap.scores_from(values)[0], shap.forest
    if target is not None and not 0 <= target < forest.outputs:
        raise ArgumentError(f"expected `target` from 0 to {forest.outputs - 1}, got {target}")
    if side not in (None, 1, -1):
        raise ArgumentError(f"expected `side` 1 or -1, got {side!r}")
    target = int(np.argmax(scores)) if target is None else target
    if side is None:
        level = {"sides": threshold, "values": forest.expected[target], "classes": -np.inf}[forest.decides]
        side = 1 if scores[target] > level else -1
    reasons = reasons or make_reasons(forest.names, None)
    order = np.argsort(-side * (reasons.weights @ values[0, target]), kind="stable")
    return Decision(target, side, reasons, order, values[0], scores)


def said(keep: str, reasons: Sequence[str], reason: str | None, *, level: str) -> str:
    """A statement in words.

    Args:
        keep: as in `make_statements`.
        reasons: the first one first.
        reason: the one that it is about, if it is one.
        level: what holds for `class`, from `level_of`.
    """
    kind, _, number = keep.partition(":")
    if kind == "class":
        return level
    if kind == "sign":
        return f"{reason} keeps its sign"
    count = int(number) if number else 1
    if kind == "top":
        return f"the first {count} reasons stay {', '.join(reasons[:count])}"
    return f"{reason} stays " + ("the first reason" if count == 1 else f"among the first {count} reasons")


def level_of(decides: str, score: float, threshold: float) -> str:
    """What `class` means, in words."""
    if decides == "classes":
        return "the class stays"
    return f"the score stays {'above' if score > threshold else 'at most'} {exact_text(threshold)}"


def make_statements(forest: Forest, decision: Decision, keep: str, *, threshold: float) -> tuple[Statement, ...]:
    """From `first`, `stays:K` (one statement for each of the K), `top:K`, `sign`, `sign:COLUMN` or `class`."""
    kind, _, detail = keep.partition(":")
    if kind == "class" and not detail:
        return (_class(forest, decision, threshold),)
    if kind == "sign":
        return (_sign(forest, decision, detail),)
    names, order = decision.reasons.names, decision.order
    count = _count(len(names) - 1, keep, "stays:1" if keep == "first" else keep)
    if kind == "top":
        pairs = [(int(one), int(other)) for one in order[:count] for other in order[count:]]
        return (_above(forest, decision, said(keep, decision.named, None, level=""), None, pairs, len(pairs)),)
    return tuple(
        _above(
            forest,
            decision,
            said(keep, decision.named, names[one], level=""),
            names[one],
            [(int(one), int(other)) for other in order if other != one],
            len(order) - count,
        )
        for one in order[:count]
    )


def _count(most: int, keep: str, text: str) -> int:
    kind, _, number = text.partition(":")
    if kind not in ("stays", "top") or not number.isascii() or not number.isdecimal() or not 1 <= int(number) <= most:
        known = f"first, stays:K, top:K (K from 1 to {most}), sign, sign:COLUMN or class"
        raise ArgumentError(f"expected `keep` {known}, got {keep!r}")
    return int(number)


def _above(
    forest: Forest, decision: Decision, words: str, reason: str | None, pairs: list[tuple[int, int]], needed: int
) -> Statement:
    """Of pairs of reasons, enough keep their order."""
    weights = decision.reasons.weights
    columns = np.array([weights[one] - weights[other] for one, other in pairs])
    outputs = _towards(forest, decision, len(pairs))
    summed = np.maximum(np.abs(columns).sum(axis=1) / 2, 1.0)  # sums over groups round column by column
    tie = np.abs(outputs) @ forest.tie * summed
    return Statement(words, reason, outputs, columns, np.zeros(len(pairs)), tie, needed)


def _sign(forest: Forest, decision: Decision, detail: str) -> Statement:
    names, number = decision.reasons.names, int(decision.order[0])
    if detail:
        if detail not in names:
            raise ArgumentError(f"expected `keep` sign:COLUMN with a column of the forest, got {detail!r}")
        number = names.index(detail)
    above = decision.side * decision.contributions[number] > 0
    columns = decision.reasons.weights[[number]] * (1.0 if above else -1.0)
    words = said("sign", decision.named, names[number], level="")
    outputs = _towards(forest, decision, 1)
    tie = np.abs(outputs) @ forest.tie * np.abs(columns).sum()
    return Statement(words, names[number], outputs, columns, np.zeros(1), tie, 1)


def _class(forest: Forest, decision: Decision, threshold: float) -> Statement:
    """The side of the threshold, or the class with the largest score."""
    if forest.decides == "classes":
        others = [output for output in range(forest.outputs) if output != decision.target]
        outputs = np.zeros((len(others), forest.outputs))
        outputs[:, decision.target] = 1.0
        outputs[np.arange(len(others)), others] = -1.0
        offset = outputs @ forest.expected
    else:
        outputs = np.zeros((1, forest.outputs))
        side = 1.0 if decision.scores[decision.target] > threshold else -1.0
        outputs[0, decision.target] = side
        offset = side * (forest.expected[[decision.target]] - threshold)
    columns = np.ones((len(outputs), len(forest.names)))
    words = level_of(forest.decides, decision.scores[decision.target], threshold)
    return Statement(words, None, outputs, columns, offset, np.abs(outputs) @ forest.score_tie, len(outputs))


def _towards(forest: Forest, decision: Decision, count: int) -> FloatArray:
    outputs = np.zeros((count, forest.outputs))
    outputs[:, decision.target] = decision.side
    return outputs
