"""Two columns at once: every pair of their cells."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from attribound.errors import ArgumentError
from attribound.forests.cells import Cells, Movement, neighbours
from attribound.forests.ensemble import BoolArray
from attribound.forests.shap import TreeShap
from attribound.forests.statements import Statement, decide, make_statements

MOST_PAIRS = 2**22
_CHUNK = 2**14


@dataclass(frozen=True, eq=False)
class Pairs:
    """A statement over two columns, the others as they are.

    Attributes:
        columns: their numbers.
        cells: their alternatives.
        kept: (alternatives of the first, of the second): whether the statement holds.
    """

    columns: tuple[int, int]
    cells: tuple[Cells, Cells]
    kept: BoolArray


def sweep_pairs(shap: TreeShap, statement: Statement, near: tuple[Cells, ...], columns: tuple[int, int]) -> Pairs:
    """Try every pair of alternatives of two columns."""
    first, second = (near[column] for column in columns)
    shape = (len(first.codes), len(second.codes))
    if columns[0] == columns[1]:
        raise ArgumentError(f"expected two different columns, got {shap.forest.names[columns[0]]!r} twice")
    if shape[0] * shape[1] > MOST_PAIRS:
        raise ArgumentError(f"expected at most {MOST_PAIRS:,} pairs of cells, got {shape[0]:,} x {shape[1]:,}")
    own = np.array([cells.codes[cells.own] for cells in near])
    places = np.indices(shape).reshape(2, -1)
    kept = np.empty(shape[0] * shape[1], bool)
    for at in range(0, len(kept), _CHUNK):
        one, other = places[:, at : at + _CHUNK]
        codes = np.repeat(own[None], len(one), axis=0)
        codes[:, columns[0]], codes[:, columns[1]] = first.codes[one], second.codes[other]
        kept[at : at + _CHUNK] = statement.holds(statement.margins(shap.values_at(codes)))
    return Pairs(columns, (first, second), kept.reshape(shape))


def pair_tolerance(
    shap: TreeShap,
    row: npt.ArrayLike,
    columns: tuple[str, str],
    *,
    keep: str = "first",
    whole: Sequence[str] = (),
    target: int | None = None,
    side: int | None = None,
    threshold: float = 0.0,
) -> Pairs:
    """Whether a statement about a row holds at every pair of values of two columns, missing cells included.

    Args:
        shap: of the forest.
        row: (columns,).
        columns: the names of two.
        keep: as in `tolerance`; one statement, so not `stays:K` beyond 1.
        whole: columns that hold whole numbers.
        target: as in `tolerance`.
        side: as in `tolerance`.
        threshold: as in `tolerance`.
    """
    names, values = shap.forest.names, np.asarray(row, dtype=np.float64)
    unknown = [name for name in columns if name not in names]
    if unknown or len(columns) != 2:
        raise ArgumentError(f"expected two columns of the forest, got {columns!r}")
    decision = decide(shap, values, target=target, side=side, threshold=threshold)
    statement, *others = make_statements(shap.forest, decision, keep, threshold=threshold)
    if others:
        raise ArgumentError(f"expected one statement, got {keep!r}, which makes {1 + len(others)}")
    moves = tuple(Movement(whole=name in whole, missing=True) for name in names)
    near = neighbours(shap.forest.axes, values, moves)
    return sweep_pairs(shap, statement, near, (names.index(columns[0]), names.index(columns[1])))
