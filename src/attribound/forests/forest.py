"""`Forest`: one value for all tree ensembles."""

import copy
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt

from attribound.errors import ArgumentError, StoredDataError
from attribound.file_quota import check_bytes, read_bytes, shown
from attribound.forests.axes import Axis, make_axes
from attribound.forests.ensemble import Ensemble, FloatArray, IntArray
from attribound.forests.grids import Terms
from attribound.forests.paths import make_paths
from attribound.forests.reader import SUFFIXES, read_file, read_sklearn


@dataclass(frozen=True)
class Precision:
    """How closely a library computes its values.

    Attributes:
        tree: within a tree, relative to its largest leaf.
        step: of one addition, relative to the sum.
        paths: for paths up to this length. Libraries take columns off a path one by one, which multiplies rounding
            errors: measured, by less than two for every column beyond.
    """

    tree: float
    step: float
    paths: int

    def values(self, largest: FloatArray, lengths: IntArray) -> FloatArray:
        """Of SHAP values, by output: those of a tree are up to twice as large as its leaves.

        Args:
            largest: leaf of every tree, (trees, outputs).
            lengths: of the trees' longest paths.
        """
        growth = 2.0 ** np.clip(lengths - self.paths, 0, _MOST_LOST)
        found: FloatArray = self.tree * (growth @ largest) + self._sums(2 * largest, np.zeros(largest.shape[1]))
        return found

    def scores(self, largest: FloatArray, base: FloatArray) -> FloatArray:
        """Of scores, by output.

        Args:
            largest: leaf of every tree, (trees, outputs).
            base: score of every output.
        """
        start = np.abs(base)
        found: FloatArray = self.tree * (largest.sum(axis=0) + start) + self._sums(largest, start)
        return found

    def _sums(self, terms: FloatArray, start: FloatArray) -> FloatArray:
        """Of adding terms one after the other: each time the sum so far is rounded."""
        sums: FloatArray = self.step * ((start + np.cumsum(terms, axis=0)) * (terms > 0)).sum(axis=0)
        return sums


PRECISION = {"xgboost": Precision(1e-6, 2.0**-24, 8)}
"""XGBoost computes in float32."""
DOUBLE = Precision(1e-9, 2.0**-53, 27)
"""The others in float64; far above the rounding of our own sums."""
_MOST_LOST = 60


@final
class Forest:
    """A tree ensemble: XGBoost (`.json`, `.ubj`), LightGBM (`.txt`) or a fitted scikit-learn forest or booster.

    A value: it does not change after it was read.

    Args:
        source: a file's path or a fitted scikit-learn model.
        rounds: how many boosting rounds of a file to use; all of them unless stated. Files hold all rounds even where
            early stopping marked fewer as best (`best_rounds`).
    """

    def __init__(self, source: Any, *, rounds: int | None = None) -> None:
        if isinstance(source, str | Path):
            self._ensemble, self._sha256 = _from_file(Path(source), rounds)
        elif rounds is not None:
            raise ArgumentError("expected `rounds` with a file only, got it with a scikit-learn model")
        else:
            self._ensemble = read_sklearn(source)
            self._sha256 = _fingerprint(self._ensemble)
        for number, tree in enumerate(self._ensemble.trees):
            tree.check(number, len(self._ensemble.names))
        self._axes = make_axes(self._ensemble)
        self._check_size()
        self._terms = tuple(Terms(make_paths(tree, self._axes)) for tree in self._ensemble.trees)

    def __repr__(self) -> str:
        best = self.best_rounds
        stopped = f" (early stopping marked {best} as best)" if best is not None and best != self.rounds else ""
        kind = f"{len(self.terms)} trees, {len(self.names)} columns, {self.outputs} outputs"
        return f"Forest({self.library}: {kind}, {self.rounds} rounds{stopped})"

    @property
    def library(self) -> str:
        """Which library's comparisons apply."""
        return self._ensemble.library

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns."""
        return self._ensemble.names

    @property
    def unnamed(self) -> bool:
        """Whether the columns have numbers for names: the model was trained without names."""
        return all(name in (f"column {place}", f"Column_{place}") for place, name in enumerate(self.names))

    def renamed(self, names: Sequence[str]) -> "Forest":
        """The same forest with other names of its columns."""
        if len(names) != len(self.names) or len(set(names)) != len(names):
            raise ArgumentError(f"expected {len(self.names)} different names of columns, got {len(names)}")
        other = copy.copy(self)
        other._ensemble = replace(self._ensemble, names=tuple(names))
        other._axes = tuple(replace(axis, name=name) for axis, name in zip(self._axes, names, strict=True))
        return other

    @property
    def words(self) -> Mapping[str, tuple[str, ...]]:
        """By column, its categories in the order of their numbers, where the model names them."""
        return self._ensemble.words

    @property
    def categorical(self) -> tuple[bool, ...]:
        """Which columns hold categories."""
        return self._ensemble.categorical

    @property
    def decides(self) -> str:
        """What a score means: `sides` of 0, `classes` (the largest score), or `values`."""
        return self._ensemble.decides

    @property
    def outputs(self) -> int:
        """How many scores a row has."""
        return len(self._ensemble.base)

    @property
    def rounds(self) -> int:
        """Boosting rounds in use."""
        return self._ensemble.rounds

    @property
    def best_rounds(self) -> int | None:
        """What early stopping marked as best, if the file says so."""
        return self._ensemble.best_rounds

    @property
    def sha256(self) -> str:
        """Of the file, or of the arrays of a model from Python."""
        return self._sha256

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Every column's cells."""
        return self._axes

    @property
    def terms(self) -> tuple[Terms, ...]:
        """Every tree."""
        return self._terms

    @cached_property
    def expected(self) -> FloatArray:
        """The mean score over the training data, by output: what SHAP values are counted from."""
        mean = self._ensemble.base.copy()
        for one in self._terms:
            mean[one.paths.outputs] += one.paths.expected
        return mean

    @cached_property
    def magnitude(self) -> FloatArray:
        """The sum of the trees' largest leaves, by output: what rounding errors of SHAP values are relative to."""
        total: FloatArray = self._largest.sum(axis=0)
        return total

    @cached_property
    def _largest(self) -> FloatArray:
        """Each tree's largest leaf, (trees, outputs)."""
        largest = np.zeros((len(self._terms), self.outputs))
        for row, one in zip(largest, self._terms, strict=True):
            row[one.paths.outputs] = np.abs(one.paths.value).max(axis=0)
        return largest

    @cached_property
    def _precision(self) -> Precision:
        return PRECISION.get(self.library, DOUBLE)

    @cached_property
    def tie(self) -> FloatArray:
        """By output: SHAP values that differ by no more count as tied, for the library may see them either way."""
        trees = zip(self._ensemble.trees, self._terms, strict=True)
        # A column that is asked again is taken off and put back, at most as harmful as one more.
        lengths = [min(tree.depth, 2 * one.paths.longest) for tree, one in trees]
        return self._precision.values(self._largest, np.array(lengths, np.intp))

    @cached_property
    def score_tie(self) -> FloatArray:
        """The same for scores, which contain the base score."""
        return self._precision.scores(self._largest, self._ensemble.base)

    def codes(self, rows: npt.ArrayLike) -> IntArray:
        """The cell of every value, (rows, columns)."""
        table = np.asarray(rows, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != len(self.names):
            raise ArgumentError(f"expected rows of {len(self.names)} columns, got an array of shape {table.shape}")
        found = np.empty(table.shape, np.intp)
        for column, axis in enumerate(self._axes):
            found[:, column] = axis.codes(table[:, column])
        return found

    def _check_size(self) -> None:
        """Raise StoredDataError if the leaves' tables would take more memory than a file may."""
        wanted = 0
        for tree in self._ensemble.trees:
            asked = tree.column[tree.column >= 0]
            leaves = len(asked) + 1
            wanted += leaves * (2 * len(asked) + 9 * len(np.unique(asked)))
        check_bytes("the forest", wanted, 8 * sum(len(tree.left) for tree in self._ensemble.trees))


def _from_file(path: Path, rounds: int | None) -> tuple[Ensemble, str]:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ArgumentError(f"expected a forest in a file named {', '.join(SUFFIXES)}, got {shown(path)}")
    content = read_bytes(path)
    try:
        return read_file(content, suffix, rounds), hashlib.sha256(content).hexdigest()
    except StoredDataError as error:
        raise StoredDataError(f"cannot read {shown(path)}: {error}") from None


def _fingerprint(ensemble: Ensemble) -> str:
    digest = hashlib.sha256(repr((ensemble.library, ensemble.names, ensemble.missing, ensemble.categorical)).encode())
    digest.update(ensemble.base.tobytes())
    for tree in ensemble.trees:
        for name, value in sorted(vars(tree).items()):
            content = repr({node: list(listed) for node, listed in value.items()}) if isinstance(value, dict) else value
            digest.update(name.encode())
            digest.update(content.encode() if isinstance(content, str) else np.ascontiguousarray(content).tobytes())
    return digest.hexdigest()
