"""Tolerances as people ask for them: columns, pairs, all together; attacked, confirmed by the library, refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost

from attribound.errors import ArgumentError
from attribound.forests import Forest, TreeShap, pair_tolerance, tolerance
from attribound.forests.attack import random_moves, threshold_moves
from attribound.forests.cells import Movement, make_cells, movements, neighbours
from attribound.forests.comparisons import ZERO
from attribound.forests.sizes import SIZES
from attribound.forests.statements import decide, make_statements
from tests.forests.models import LIGHTGBM, XGBOOST, Known

MODELS = [
    ("xgboost", "binary"),
    ("xgboost", "classes"),
    ("xgboost", "categorical"),
    ("xgboost", "missing"),
    ("lightgbm", "binary"),
    ("lightgbm", "categorical"),
    ("lightgbm", "zero as missing"),
]


def known(kind: tuple[str, str], folder: Path) -> Known:
    return (XGBOOST if kind[0] == "xgboost" else LIGHTGBM)[kind[1]](folder, 1)


def statements(shap: TreeShap, row: np.ndarray, keep: str) -> tuple[Any, ...]:
    decision = decide(shap, row, target=None, side=None, threshold=0.0)
    return make_statements(shap.forest, decision, keep, threshold=0.0)


def broken(statement: Any, values: np.ndarray) -> np.ndarray:
    """Where library values break a statement beyond rounding."""
    return ~statement.holds(statement.margins(values) + 2 * statement.tie)


def surely_kept(statement: Any, values: np.ndarray) -> np.ndarray:
    return statement.holds(statement.margins(values))


# --- attacks


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", MODELS, ids=" ".join)
def test_no_point_inside_breaks_a_statement_and_the_nearest_change_does(
    kind: tuple[str, str], size: str, tmp_path: Path
) -> None:
    """The library's own values at thousands of points strictly inside, and at the nearest row outside."""
    model, rng = known(kind, tmp_path), np.random.default_rng(5)
    shap, tried, claimed = TreeShap(model.forest), 0, 0
    free: dict[str, Any] = {"scale": np.full(6, 0.8), "missing": kind[1] == "missing", "whole": ()}
    moves = movements(model.forest.names, model.forest.categorical, fixed=(), choices=None, **free)
    numeric = [not listed for listed in model.forest.categorical]
    for number, keep in enumerate(("first", "stays:3", "top:2", "sign", "class")):
        row = model.rows[number]
        sheet = tolerance(shap, row, keep=keep, size=size, boxes=3000, **free)
        near = neighbours(model.forest.axes, row, moves)
        for part, statement in zip(sheet.parts, statements(shap, row, keep), strict=True):
            answer = part.together
            if answer.exact and answer.nearest is not None:
                claimed += 1
                assert not surely_kept(statement, model.explain(answer.nearest[None]) * (1 - 1e-6))[0]
            if answer.reach == 0:
                continue
            points = threshold_moves(near, SIZES[size], reach=answer.reach, count=400, rng=rng)
            if size != "count":
                more = random_moves(row, moves, numeric, SIZES[size], reach=answer.reach, count=400, rng=rng)
                points = np.concatenate([points, more])
            assert not broken(statement, model.explain(points)).any(), (keep, part.words, answer)
            tried += len(points)
    assert tried > 1000
    assert claimed > 3


@pytest.mark.parametrize("kind", MODELS, ids=" ".join)
def test_a_columns_interval_ends_where_it_says(kind: tuple[str, str], tmp_path: Path) -> None:
    model = known(kind, tmp_path)
    shap, ends = TreeShap(model.forest), 0
    for row in model.rows[:12]:
        sheet = tolerance(shap, row, boxes=1)
        (statement,) = statements(shap, row, "first")
        for column, name in enumerate(model.forest.names):
            answer = sheet[name]
            for value, ok in answer.alternatives.items():
                changed = row.copy()
                changed[column] = value
                values = model.explain(changed[None])
                assert not (broken(statement, values) if ok else surely_kept(statement, values))[0]
            low, high = answer.values
            for kept, outside in ((low, np.nextafter(low, -np.inf)), (high, np.nextafter(high, np.inf))):
                if not np.isfinite(kept):
                    continue
                rows = np.repeat(row[None], 2, axis=0)
                rows[:, column] = kept, outside
                values = model.explain(rows)
                assert not broken(statement, values[:1])[0]
                assert not surely_kept(statement, values[1:] * (1 - 1e-6))[0]
                ends += 1
    assert ends > 5 or kind[1] == "categorical"


def test_the_single_column_is_never_nearer_than_all_together(tmp_path: Path) -> None:
    model = known(("xgboost", "binary"), tmp_path)
    shap = TreeShap(model.forest)
    for row in model.rows[:10]:
        alone = min(
            tolerance(shap, row, fixed=[one for one in model.forest.names if one != name]).together.reach
            for name in model.forest.names
        )
        largest, both = (tolerance(shap, row, size=size).together.reach for size in ("each", "l2"))
        assert largest <= both <= alone


# --- what is said


def test_a_sheet_says_what_the_contract_promises(tmp_path: Path) -> None:
    model = known(("xgboost", "binary"), tmp_path)
    shap, row = TreeShap(model.forest), model.rows[0]
    sheet = tolerance(shap, row, keep="stays:3")
    assert len(sheet.parts) == 3
    assert [part.reason for part in sheet.parts] == list(sheet.reasons[:3])
    assert sheet.parts[0].words == f"{sheet.reasons[0]} stays among the first 3 reasons"
    assert sheet.together.reach == min(part.together.reach for part in sheet.parts)
    signed = sheet.side * sheet.contributions
    assert [model.forest.names[one] for one in np.argsort(-signed, kind="stable")] == list(sheet.reasons)
    for name in model.forest.names:
        low, high = sheet[name].values
        assert low == max(part.columns[name].values[0] for part in sheet.parts)
        assert high == min(part.columns[name].values[1] for part in sheet.parts)


def test_early_ends_prove_less_and_say_so(tmp_path: Path) -> None:
    model = known(("xgboost", "deep"), tmp_path)
    shap, early = TreeShap(model.forest), 0
    for row in model.rows[:10]:
        whole = tolerance(shap, row).together
        assert whole.exact
        for boxes in (1, 5, 20):
            some = tolerance(shap, row, boxes=boxes).together
            assert some.boxes <= boxes
            assert some.reach <= whole.reach if not some.exact else some.reach == whole.reach
            early += not some.exact
    assert early > 5


def test_fixed_columns_stay_and_whole_numbers_move_in_whole_numbers(tmp_path: Path) -> None:
    model = known(("xgboost", "binary"), tmp_path)
    shap, names = TreeShap(model.forest), model.forest.names
    moved = 0
    for row in np.round(model.rows[:20]):
        answer = tolerance(shap, row, fixed=names[:2], whole=names[2:]).together
        if answer.nearest is not None:
            np.testing.assert_array_equal(answer.nearest[:2], row[:2])
            np.testing.assert_array_equal(answer.nearest, np.round(answer.nearest))
            moved += 1
        low, high = tolerance(shap, row, whole=names, boxes=1)[names[3]].values
        assert low <= row[3] <= high
        assert all(np.isinf(end) or end == np.floor(end) for end in (low, high))
    assert moved > 5


def test_categories_that_may_not_be_chosen_are_not(tmp_path: Path) -> None:
    model = known(("xgboost", "categorical"), tmp_path)
    shap, names = TreeShap(model.forest), model.forest.names
    free = {"scale": {names[4]: 1.0, names[5]: 1.0}, "size": "count"}
    several = 0
    for row in model.rows[:30]:
        if np.isnan(row).any():
            continue
        everything = tolerance(shap, row, **free).together
        few = tolerance(shap, row, choices={names[4]: [0, 1]}, **free).together
        assert few.reach >= everything.reach
        if few.nearest is not None:
            assert few.nearest[4] in (0, 1, row[4])
            several += 1
    assert several > 3


def test_pairs_of_cells(tmp_path: Path) -> None:
    model = known(("xgboost", "missing"), tmp_path)
    shap, names, row = TreeShap(model.forest), model.forest.names, model.rows[0]
    pairs = pair_tolerance(shap, row, (names[0], names[2]))
    (statement,) = statements(shap, row, "first")
    first, second = pairs.cells
    sheet = tolerance(shap, row, boxes=1)
    np.testing.assert_array_equal(pairs.kept[: len(sheet[names[0]].kept), second.own], sheet[names[0]].kept)
    points = np.repeat(row[None], pairs.kept.size, axis=0)
    points[:, 0], points[:, 2] = np.repeat(first.values, len(second.values)), np.tile(second.values, len(first.values))
    values = model.explain(points)
    assert not (broken(statement, values) & pairs.kept.reshape(-1)).any()
    assert not (surely_kept(statement, values * (1 - 1e-6)) & ~pairs.kept.reshape(-1)).any()
    assert 0 < pairs.kept.mean() < 1


# --- traps


def test_a_category_can_break_what_no_number_does(tmp_path: Path) -> None:
    """Reading a categorical split's condition as a threshold would say "never"."""
    rng = np.random.default_rng(0)
    x = np.stack([rng.normal(size=500), rng.integers(0, 5, 500)], axis=1)
    y = ((x[:, 1] == 3) * 2 + (x[:, 0] > 0) > 1).astype(int)
    data = xgboost.DMatrix(x, y, feature_types=["q", "c"], enable_categorical=True)
    booster = xgboost.train({"nthread": 1, "max_depth": 2, "objective": "binary:logistic"}, data, 3)
    booster.save_model(tmp_path / "m.ubj")
    forest = Forest(tmp_path / "m.ubj")
    row = np.array([0.5, 3.0])
    answer = tolerance(TreeShap(forest), row, keep="class", size="count", fixed=["column 0"])
    assert answer.together.reach == 1
    assert answer["column 1"].alternatives[3]
    assert not answer["column 1"].alternatives[0]


def test_a_row_on_a_threshold_has_no_reach(tmp_path: Path) -> None:
    """LightGBM's x <= t at x = t: any larger number, however close, lies in the next cell."""
    x = np.repeat(np.arange(20.0), 10)[:, None] * [1.0, 0.0]
    y = (x[:, 0] > 9.5).astype(int)
    options = {"objective": "binary", "verbose": -1, "num_threads": 1, "num_leaves": 2, "min_data_in_leaf": 1}
    lightgbm.train(options, lightgbm.Dataset(x, y), 1).save_model(tmp_path / "m.txt")
    forest = Forest(tmp_path / "m.txt")
    threshold = float(forest.axes[0].cuts[0])
    answer = tolerance(TreeShap(forest), [threshold, 0.0], keep="class").together
    assert (answer.reach, answer.exact) == (0.0, True)
    assert answer.nearest is not None
    assert answer.nearest[0] == np.nextafter(threshold, np.inf)


def test_a_row_on_a_threshold_may_still_have_columns_that_stay() -> None:
    """The next cell is no distance away: a fixed column does not enter it, and to enter it is to change an answer."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    x = np.repeat(np.arange(20.0), 10)[:, None] * [1.0, 0.0]
    shap = TreeShap(Forest(HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=2).fit(x, x[:, 0] > 9.5)))
    row = [float(shap.forest.axes[0].cuts[0]), 0.0]
    fixed = tolerance(shap, row, keep="class", fixed=["column 0"]).together
    assert (fixed.reach, fixed.exact, fixed.nearest) == (np.inf, True, None)
    counted = tolerance(shap, row, keep="class", size="count").together
    assert (counted.reach, counted.exact) == (1.0, True)
    assert "as strong" not in tolerance(shap, row, keep="class").letter()


@pytest.mark.parametrize("size", [1e15, 1e17, 1e30])
def test_whole_numbers_beyond_those_that_floats_count(size: float) -> None:
    """Adding 1 to such a number changes nothing, and yet there are larger ones."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    x = np.floor(np.random.default_rng(0).uniform(size, 2 * size, (300, 2)))
    model = HistGradientBoostingClassifier(max_iter=4, max_leaf_nodes=4).fit(x, x[:, 0] + x[:, 1] / 3 > 2 * size)
    shap, moved = TreeShap(Forest(model)), 0
    for row in x[:20]:
        sheets = [
            tolerance(shap, row, keep="class", whole=whole, scale=[size, size]) for whole in ((), shap.forest.names)
        ]
        plain, whole = (sheet.together for sheet in sheets)
        assert whole.reach == pytest.approx(plain.reach, rel=1e-9)
        for name in shap.forest.names:
            assert sheets[1][name].values == pytest.approx(sheets[0][name].values, rel=1e-9)
        moved += np.isfinite(plain.reach)
    assert moved > 5


def test_a_threshold_is_named_in_full(tmp_path: Path) -> None:
    """Above 0.1234567 is not above 0.123457."""
    model = known(("xgboost", "binary"), tmp_path)
    sheet = tolerance(TreeShap(model.forest), model.rows[0], keep="class", threshold=0.1234567)
    assert sheet.parts[0].words.endswith(" 0.1234567")


def test_ties_count_as_lost() -> None:
    """Two columns that are always the same, each asked by one of two equal trees."""
    from sklearn.ensemble import RandomForestRegressor

    x = np.repeat(np.arange(40.0)[:, None], 2, axis=1)
    first = RandomForestRegressor(1, max_depth=1, bootstrap=False, random_state=0).fit(x * [1, 0], x[:, 0])
    other = RandomForestRegressor(1, max_depth=1, bootstrap=False, random_state=0).fit(x * [0, 1], x[:, 0])
    both = RandomForestRegressor(2).fit(x, x[:, 0])
    both.estimators_ = [first.estimators_[0], other.estimators_[0]]
    answer = tolerance(TreeShap(Forest(both)), x[0]).together
    assert (answer.reach, answer.exact) == (0.0, True)


@pytest.mark.parametrize("value", [-3.0, 0.0, 2.0])
def test_lightgbms_tiny_numbers_are_never_handed_out(value: float, tmp_path: Path) -> None:
    model = known(("lightgbm", "zeros"), tmp_path)
    axis = model.forest.axes[0]
    assert ZERO in axis.cuts or np.nextafter(-ZERO, -np.inf) in axis.cuts
    cells = make_cells(axis, value, Movement())
    tiny = (cells.values != 0) & (np.abs(cells.values) < 1.9 * ZERO)
    assert not tiny.any()
    np.testing.assert_array_equal(axis.codes(cells.values), cells.codes)


@pytest.mark.parametrize("kind", MODELS, ids=" ".join)
@pytest.mark.parametrize("whole", [False, True])
def test_every_alternatives_value_lies_in_its_own_cell(kind: tuple[str, str], whole: bool, tmp_path: Path) -> None:
    model = known(kind, tmp_path)
    for row in np.round(model.rows[:20]):
        for axis, value in zip(model.forest.axes, row, strict=True):
            cells = make_cells(axis, float(value), Movement(whole=whole, missing=True))
            np.testing.assert_array_equal(axis.codes(cells.values), cells.codes)
            assert cells.distance[cells.own] == 0
            if not np.isnan(value) and axis.categories is None:
                far = np.abs(cells.values - value)[np.isfinite(cells.values)]
                assert (cells.distance[np.isfinite(cells.values)] <= far).all()


def test_large_targets_do_not_make_every_reason_a_tie(tmp_path: Path) -> None:
    """The base score is near a million: float32 sums of contributions do not contain it."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3))
    y = 1e6 + 5 * x[:, 0] + 3 * x[:, 1]
    booster = xgboost.train({"nthread": 1, "max_depth": 3}, xgboost.DMatrix(x, y), 20)
    booster.save_model(tmp_path / "m.json")
    forest = Forest(tmp_path / "m.json")
    shap = TreeShap(forest)
    theirs = booster.predict(xgboost.DMatrix(x), pred_contribs=True)[:, None, :-1]
    assert np.abs(shap.values(x) - theirs).max() < forest.tie[0] < 0.01
    assert tolerance(shap, x[0]).together.reach > 0


# --- refusals


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"keep": "last"}, "expected `keep` first, stays:K"),
        ({"keep": "top:9"}, "K from 1 to 5"),
        ({"keep": "sign:salary"}, "expected `keep` sign:COLUMN with a column of the forest, got 'salary'"),
        ({"size": "l1"}, "expected `size` l2, each, count, got 'l1'"),
        ({"scale": [1.0, 2.0]}, "expected `scale` of 6 finite units >= 0"),
        ({"scale": [1e-160] * 6}, "expected units in `scale` from 1e-100 to 1e\\+100, or 0, got 1e-160"),
        ({"scale": [1.0] * 5 + [5e-324], "size": "count"}, "expected units in `scale`"),
        ({"scale": [1e200] * 6}, "expected units in `scale`"),
        ({"scale": {"salary": 1.0}}, "expected `scale` to name columns of the forest, got 'salary'"),
        ({"fixed": ["salary"]}, "expected `fixed` to name columns of the forest, got 'salary'"),
        ({"whole": ["column 0"]}, "expected a whole number in column 'column 0', got"),
        ({"choices": {"column 0": [1]}}, "expected `choices` of categorical columns, got 'column 0'"),
        ({"side": 2}, "expected `side` 1 or -1, got 2"),
        ({"target": 1}, "expected `target` from 0 to 0, got 1"),
        ({"boxes": 0}, "expected `boxes` to be a whole number >= 1, got 0"),
        ({"seconds": -1}, "expected `seconds` > 0, got -1"),
    ],
)
def test_what_cannot_be_asked(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    model = known(("xgboost", "binary"), tmp_path)
    with pytest.raises(ArgumentError, match=message):
        tolerance(TreeShap(model.forest), model.rows[0], **change)


def test_a_batch_is_no_row(tmp_path: Path) -> None:
    model = known(("xgboost", "binary"), tmp_path)
    with pytest.raises(ArgumentError, match=r"expected one row of 6 columns, got an array of shape \(400, 6\)"):
        tolerance(TreeShap(model.forest), model.rows)


@pytest.mark.parametrize(
    ("columns", "keep", "message"),
    [
        (("column 0", "salary"), "first", "expected two columns of the forest"),
        (("column 0", "column 0"), "first", "expected two different columns, got 'column 0' twice"),
        (("column 0", "column 1"), "stays:2", "expected one statement, got 'stays:2', which makes 2"),
    ],
)
def test_pairs_that_cannot_be_asked(
    columns: tuple[str, str], keep: str, message: str, tmp_path: Path, recwarn: Callable[..., Any]
) -> None:
    model = known(("xgboost", "binary"), tmp_path)
    with pytest.raises(ArgumentError, match=message):
        pair_tolerance(TreeShap(model.forest), model.rows[0], columns, keep=keep)
