"""The nearest change that breaks a statement, by trying everything: every combination of values around thresholds.

Reads the thresholds as the model stores them, asks the library itself for SHAP values, and knows nothing of codes,
classes, grids or boxes. Only for a few columns and small trees.
"""

import itertools
from typing import Any

import numpy as np


def candidates(ensemble: Any, column: int, value: float, move: Any) -> list[tuple[float, float]]:
    """Values that a column may take, with their distance in units: both neighbours of every threshold."""
    if move.unit == 0:
        return [(value, 0.0)]
    found = {value: 0.0}
    if ensemble.categorical[column]:
        named = [int(one) for tree in ensemble.trees for node, listed in tree.lists.items()
                 if tree.column[node] == column for one in listed]  # fmt: skip
        known = list(ensemble.known[column]) if ensemble.known else []
        everything = range(max([*named, *known, 0]) + 2) if move.choices is None else move.choices
        if not np.isnan(value) or move.missing:
            found |= {float(one): 1.0 for one in everything if one != value}
    elif not np.isnan(value):
        for one in _around(ensemble, column, whole=move.whole):
            found.setdefault(float(one), abs(one - value) / move.unit)
        found[value] = 0.0
    elif move.missing:
        found |= {float(one): 1.0 for one in _around(ensemble, column, whole=move.whole)}
    pairs = list(found.items())
    if move.missing and not np.isnan(value):
        pairs.append((np.nan, 1.0))
    return pairs


def _around(ensemble: Any, column: int, *, whole: bool) -> list[float]:
    thresholds = np.unique(np.concatenate([[0.0], *(tree.threshold[tree.column == column] for tree in ensemble.trees)]))
    thresholds = thresholds[np.isfinite(thresholds)]
    if whole:
        low, high = int(np.floor(thresholds.min())) - 2, int(np.ceil(thresholds.max())) + 2
        return [float(one) for one in range(low, high + 1)]
    if ensemble.library in ("xgboost", "scikit-learn"):
        near = thresholds.astype(np.float32)
        sides = [np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf))]
    else:
        near = thresholds
        sides = [np.nextafter(near, -np.inf), near, np.nextafter(near, np.inf), near - 1e-9, near + 1e-9]
    return [float(one) for side in sides for one in side]


def sizes(distances: np.ndarray, size: str) -> np.ndarray:
    """(points,) from (points, columns)."""
    if size == "l2":
        return np.sqrt((distances**2).sum(axis=1))
    return distances.max(axis=1) if size == "each" else (distances > 0).sum(axis=1).astype(float)


def margin(keep: str, reason: int | None, told: dict[str, Any], values: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """How far every point is from breaking the statement, in the words of the statement.

    Args:
        keep: as in `tolerance`.
        reason: for `stays`, which of the first reasons, by column.
        told: `order`, `side`, `target`, `positive` (sign of the first reason) and `above` (score above the threshold).
        values: (points, outputs, columns).
        scores: (points, outputs).
    """
    signed = told["side"] * values[:, told["target"]]
    kind, _, number = keep.partition(":")
    if kind == "class":
        if told["above"] is not None:
            return scores[:, told["target"]] * (1 if told["above"] else -1)
        rest = np.delete(scores, told["target"], axis=1)
        return scores[:, told["target"]] - rest.max(axis=1)
    first = told["order"][0]
    if kind == "sign":
        return signed[:, first] * (1 if told["positive"] else -1)
    if kind == "top":
        chosen = told["order"][: int(number)]
        rest = np.delete(signed, chosen, axis=1)
        return signed[:, chosen].min(axis=1) - rest.max(axis=1)
    count = int(number) if number else 1
    mine = first if reason is None else reason
    others = np.sort(np.delete(signed, mine, axis=1), axis=1)
    return signed[:, mine] - others[:, -count]


def points(ensemble: Any, row: np.ndarray, moves: Any) -> tuple[np.ndarray, np.ndarray]:
    """Every combination of candidates, and the distances of its columns."""
    lists = [candidates(ensemble, column, float(row[column]), move) for column, move in enumerate(moves)]
    combinations = np.array(list(itertools.product(*lists)))
    return combinations[:, :, 0], combinations[:, :, 1]
