"""Path-dependent SHAP values straight from their definition: every subset of columns, one walk down the tree each.

Knows nothing of leaves, classes or integration; reads nodes as stored and compares as the library does.
"""

import itertools
import math
from typing import Any

import numpy as np


def goes_left(ensemble: Any, tree: Any, node: int, value: float) -> bool:
    """Where the library sends a value, from its own rules."""
    column, library = int(tree.column[node]), ensemble.library
    default = bool(tree.default_left[node])
    if node in tree.lists:
        if math.isnan(value) or (library == "histogram" and not _is_known(ensemble, column, value)):
            return default
        return (int(value) in tree.lists[node]) != bool(tree.listed_right[node])
    threshold, policy = float(tree.threshold[node]), ensemble.missing[column].name
    if library == "lightgbm" and abs(value) <= float(np.float32(1e-35)):
        value = 0.0
    if math.isnan(value):
        if policy == "OWN":
            return default
        value = 0.0
    if policy == "WITH_ZERO" and value == 0.0:
        return default
    if library == "xgboost":
        return bool(np.float32(value) < np.float32(threshold))
    if library == "scikit-learn":
        return bool(float(np.float32(value)) <= threshold)
    return value <= threshold


def _is_known(ensemble: Any, column: int, value: float) -> bool:
    return int(value) in ensemble.known[column]


def expectation(ensemble: Any, tree: Any, row: np.ndarray, known: frozenset[int], node: int = 0) -> np.ndarray:
    """What the tree says on average when only some columns are known."""
    if tree.left[node] < 0:
        return tree.value[node]
    left, right, column = int(tree.left[node]), int(tree.right[node]), int(tree.column[node])
    if column in known:
        child = left if goes_left(ensemble, tree, node, float(row[column])) else right
        return expectation(ensemble, tree, row, known, child)
    sides = [(child, tree.cover[child] / tree.cover[node]) for child in (left, right)]
    return sum(share * expectation(ensemble, tree, row, known, child) for child, share in sides)


def values(ensemble: Any, row: np.ndarray) -> np.ndarray:
    """SHAP values of every output, (outputs, columns)."""
    found = np.zeros((len(ensemble.base), len(ensemble.names)))
    for tree in ensemble.trees:
        columns = sorted({int(column) for column in tree.column if column >= 0})
        known = {
            subset: expectation(ensemble, tree, row, frozenset(subset))
            for size in range(len(columns) + 1)
            for subset in itertools.combinations(columns, size)
        }
        for column in columns:
            others = [one for one in columns if one != column]
            for size in range(len(others) + 1):
                weight = math.factorial(size) * math.factorial(len(columns) - size - 1) / math.factorial(len(columns))
                for subset in itertools.combinations(others, size):
                    gain = known[tuple(sorted((*subset, column)))] - known[subset]
                    found[tree.outputs, column] += weight * gain
    return found
