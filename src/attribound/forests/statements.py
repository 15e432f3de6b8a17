"""What is to be kept: linear inequalities in SHAP values, of which enough must hold."""

from dataclasses import dataclass

import numpy as np

from attribound.errors import ArgumentError
from attribound.forests.ensemble import BoolArray, FloatArray, IntArray
from attribound.forests.forest import Forest
from attribound.forests.shap import TreeShap


@dataclass(frozen=True, eq=False)
class Statement:
    """At least `needed` of the inequalities sum over outputs and columns of u w phi + offset > tie hold.

    Attributes:
        words: for people.
        reason: the column it speaks about, if it is one.
        outputs: (inequalities, outputs), u.
        columns: (inequalities, columns), w.
        offset: (inequalities,).
        tie: (inequalities,): what is not above it counts as lost, for the library may see it the other way.
        needed: how many must hold.
    """

    words: str
    reason: int | None
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
        order: columns, the first reason first.
        values: SHAP values of all outputs, (outputs, columns).
        scores: of all outputs.
    """

    target: int
    side: int
    order: IntArray
    values: FloatArray
    scores: FloatArray


def decide(shap: TreeShap, row: FloatArray, *, target: int | None, side: int | None, threshold: float) -> Decision:
    """The decision about a row.

    Args:
        shap: of the forest.
        row: (columns,).
        target: the output to explain; None: the largest score.
        side: 1 or -1; None: towards the side of the threshold on which the score lies, above the mean for regression,
            and towards the class where there are several.
        threshold: of the score, for forests that decide by sides.
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
    order = np.argsort(-side * values[0, target], kind="stable")
    return Decision(target, side, order, values[0], scores)


def make_statements(forest: Forest, decision: Decision, keep: str, *, threshold: float) -> tuple[Statement, ...]:
    """From `first`, `stays:K` (one statement for each of the K), `top:K`, `sign`, `sign:COLUMN` or `class`."""
    kind, _, detail = keep.partition(":")
    if kind == "class" and not detail:
        return (_class(forest, decision, threshold),)
    if kind == "sign":
        return (_sign(forest, decision, detail),)
    count = _count(forest, keep, "stays:1" if keep == "first" else keep)
    order = decision.order
    if kind == "top":
        pairs = [(int(one), int(other)) for one in order[:count] for other in order[count:]]
        names = ", ".join(forest.names[one] for one in order[:count])
        return (_above(forest, decision, f"the first {count} reasons stay {names}", None, pairs, len(pairs)),)
    return tuple(
        _above(
            forest,
            decision,
            f"{forest.names[one]} stays " + ("the first reason" if count == 1 else f"among the first {count} reasons"),
            int(one),
            [(int(one), int(other)) for other in order if other != one],
            len(order) - count,
        )
        for one in order[:count]
    )


def _count(forest: Forest, keep: str, text: str) -> int:
    kind, _, number = text.partition(":")
    most = len(forest.names) - 1
    if kind not in ("stays", "top") or not number.isascii() or not number.isdecimal() or not 1 <= int(number) <= most:
        known = f"first, stays:K, top:K (K from 1 to {most}), sign, sign:COLUMN or class"
        raise ArgumentError(f"expected `keep` {known}, got {keep!r}")
    return int(number)


def _above(
    forest: Forest, decision: Decision, words: str, reason: int | None, pairs: list[tuple[int, int]], needed: int
) -> Statement:
    """Of pairs of columns, enough keep their order."""
    columns = np.zeros((len(pairs), len(forest.names)))
    for number, (one, other) in enumerate(pairs):
        columns[number, one], columns[number, other] = 1.0, -1.0
    outputs = _towards(forest, decision, len(pairs))
    tie = np.abs(outputs) @ forest.tie
    return Statement(words, reason, outputs, columns, np.zeros(len(pairs)), tie, needed)


def _sign(forest: Forest, decision: Decision, detail: str) -> Statement:
    column = int(decision.order[0])
    if detail:
        if detail not in forest.names:
            raise ArgumentError(f"expected `keep` sign:COLUMN with a column of the forest, got {detail!r}")
        column = forest.names.index(detail)
    above = decision.side * decision.values[decision.target, column] > 0
    columns = np.zeros((1, len(forest.names)))
    columns[0, column] = 1.0 if above else -1.0
    words = f"{forest.names[column]} keeps its sign"
    outputs = _towards(forest, decision, 1)
    return Statement(words, column, outputs, columns, np.zeros(1), np.abs(outputs) @ forest.tie, 1)


def _class(forest: Forest, decision: Decision, threshold: float) -> Statement:
    """The side of the threshold, or the class with the largest score."""
    if forest.decides == "classes":
        others = [output for output in range(forest.outputs) if output != decision.target]
        outputs = np.zeros((len(others), forest.outputs))
        outputs[:, decision.target] = 1.0
        outputs[np.arange(len(others)), others] = -1.0
        offset, words = outputs @ forest.expected, "the class stays"
    else:
        outputs = np.zeros((1, forest.outputs))
        side = 1.0 if decision.scores[decision.target] > threshold else -1.0
        outputs[0, decision.target] = side
        offset = side * (forest.expected[[decision.target]] - threshold)
        words = f"the score stays {'above' if side > 0 else 'at most'} {threshold:g}"
    columns = np.ones((len(outputs), len(forest.names)))
    return Statement(words, None, outputs, columns, offset, np.abs(outputs) @ forest.score_tie, len(outputs))


def _towards(forest: Forest, decision: Decision, count: int) -> FloatArray:
    outputs = np.zeros((count, forest.outputs))
    outputs[:, decision.target] = decision.side
    return outputs
