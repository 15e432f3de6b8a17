"""Scores and SHAP values: equal to the libraries' own and to the definition, on every kind of model."""

import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from attribound.errors import ArgumentError
from attribound.forests import Forest, TreeShap
from tests.forests.models import LIGHTGBM, SKLEARN, XGBOOST, Known, sklearn_scores
from tests.reference import shap_by_subsets

FILES = [("xgboost", name) for name in XGBOOST] + [("lightgbm", name) for name in LIGHTGBM]
CLOSE = {"xgboost": 1e-6, "lightgbm": 1e-12}


def known(folder: Path, kind: tuple[str, str]) -> Known:
    return (XGBOOST if kind[0] == "xgboost" else LIGHTGBM)[kind[1]](folder, 1)


def difference(ours: np.ndarray, theirs: np.ndarray) -> float:
    return float(np.abs(ours - theirs).max() / np.abs(theirs).sum(axis=-1).max())


@pytest.mark.parametrize("kind", FILES, ids=" ".join)
def test_values_and_scores_are_the_librarys(kind: tuple[str, str], tmp_path: Path) -> None:
    model = known(tmp_path, kind)
    shap = TreeShap(model.forest)
    assert difference(shap.values(model.rows), model.values) < CLOSE[kind[0]]
    assert difference(shap.scores(model.rows), model.scores) < CLOSE[kind[0]]


@pytest.mark.parametrize("kind", FILES, ids=" ".join)
def test_the_library_agrees_on_both_sides_of_every_cut(kind: tuple[str, str], tmp_path: Path) -> None:
    """The largest float64 that goes left, and the next one: where each library rounds differently."""
    model = known(tmp_path, kind)
    rows = [model.rows[0]]
    for column, axis in enumerate(model.forest.axes):
        edges = axis.cuts if axis.categories is None else np.arange(9.0)
        values = np.concatenate([edges, np.nextafter(edges, np.inf)]) if axis.categories is None else edges
        for value in values[np.isfinite(values)]:
            rows.append(model.rows[len(rows) % 50].copy())
            rows[-1][column] = value
    assert len(rows) > 20
    theirs = model.explain(np.array(rows))
    assert difference(TreeShap(model.forest).values(np.array(rows)), theirs) < CLOSE[kind[0]]


@pytest.mark.parametrize("name", SKLEARN)
def test_scores_are_those_of_scikit_learn(name: str) -> None:
    model, rows = SKLEARN[name](1)
    assert difference(TreeShap(Forest(model)).scores(rows), sklearn_scores(model, rows)) < 1e-12


@pytest.mark.parametrize("name", SKLEARN)
def test_scikit_learn_agrees_on_both_sides_of_every_cut(name: str) -> None:
    model, rows = SKLEARN[name](2)
    forest = Forest(model)
    tried = []
    for column, axis in enumerate(forest.axes):
        for value in axis.cuts[np.isfinite(axis.cuts)]:
            for edge in (value, np.nextafter(value, np.inf)):
                tried.append(rows[len(tried) % 50].copy())
                tried[-1][column] = edge
    assert len(tried) > 20
    assert difference(TreeShap(forest).scores(np.array(tried)), sklearn_scores(model, np.array(tried))) < 1e-12


@pytest.mark.parametrize("name", [name for name in SKLEARN if name != "histogram categorical"])
def test_values_are_those_of_shap(name: str) -> None:
    """shap itself does not read categorical splits of scikit-learn; the definition is the reference there."""
    if find_spec("shap") is None:
        pytest.skip("shap is not installed: it is optional, for it brings 250 MB")
    model, rows = SKLEARN[name](1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # shap's own
        import shap

        theirs = np.asarray(shap.TreeExplainer(model, feature_perturbation="tree_path_dependent").shap_values(rows))
    theirs = theirs[:, None] if theirs.ndim == 2 else theirs.transpose(0, 2, 1)
    assert difference(TreeShap(Forest(model)).values(rows), theirs) < 1e-12


@pytest.mark.parametrize("kind", [*FILES, *(("scikit-learn", name) for name in SKLEARN)], ids=" ".join)
def test_values_are_those_of_the_definition(kind: tuple[str, str], tmp_path: Path) -> None:
    if kind[0] == "scikit-learn":
        model, rows = SKLEARN[kind[1]](3)
        forest = Forest(model)
    else:
        one = known(tmp_path, kind)
        forest, rows = one.forest, one.rows
    ours = TreeShap(forest).values(rows[:2])
    theirs = np.array([shap_by_subsets.values(forest._ensemble, row) for row in rows[:2]])
    assert difference(ours, theirs) < 1e-12


def test_rows_evaluated_one_by_one_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Grids split into groups of leaves, or too large for a table at all."""
    model = known(tmp_path, ("xgboost", "deep"))
    whole = TreeShap(model.forest).values(model.rows)
    for most in (64, 1):
        monkeypatch.setattr("attribound.forests.shap._LARGEST_GRID", most)
        assert difference(TreeShap(model.forest).values(model.rows), whole) < 1e-13


def test_the_target_is_the_predicted_class_unless_stated(tmp_path: Path) -> None:
    model = known(tmp_path, ("xgboost", "classes"))
    shap = TreeShap(model.forest)
    values, winners = shap.values(model.rows), shap.scores(model.rows).argmax(axis=1)
    assert len(set(winners)) > 1
    np.testing.assert_array_equal(shap.explain(model.rows), values[np.arange(len(values)), winners])
    np.testing.assert_array_equal(shap.explain(model.rows, target=2), values[:, 2])
    with pytest.raises(ArgumentError, match="expected `target` from 0 to 3, got 4"):
        shap.explain(model.rows, target=4)


@pytest.mark.parametrize(
    ("value", "message"), [(np.inf, "expected finite numbers in column 'column 1', got inf"), (1e39, "got 1e\\+39")]
)
def test_values_that_the_library_refuses(value: float, message: str, tmp_path: Path) -> None:
    model = known(tmp_path, ("xgboost", "binary"))
    row = model.rows[:1].copy()
    row[0, 1] = value
    with pytest.raises(ArgumentError, match=message):
        TreeShap(model.forest).explain(row)


@pytest.mark.parametrize("value", [-1.0, 1.5])
def test_values_that_are_no_category(value: float, tmp_path: Path) -> None:
    model = known(tmp_path, ("xgboost", "categorical"))
    row = model.rows[:1].copy()
    row[0, 4] = value
    with pytest.raises(ArgumentError, match="expected a category, a whole number >= 0, in column 'column 4'"):
        TreeShap(model.forest).explain(row)


def test_a_missing_cell_where_the_model_refuses_it() -> None:
    model, rows = SKLEARN["boosting"](1)
    row = rows[:1].copy()
    row[0, 0] = np.nan
    with pytest.raises(ArgumentError, match="got a missing cell: the model refuses it"):
        TreeShap(Forest(model)).explain(row)


def test_rows_of_another_width(tmp_path: Path) -> None:
    model = known(tmp_path, ("xgboost", "binary"))
    with pytest.raises(ArgumentError, match=r"expected rows of 6 columns, got an array of shape \(6,\)"):
        TreeShap(model.forest).explain(model.rows[0])
