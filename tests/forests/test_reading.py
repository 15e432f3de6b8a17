"""Files: read, pinned, refused in one line."""

import gc
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn import ensemble, linear_model

from attribound.errors import ArgumentError, StoredDataError
from attribound.forests import Forest, TreeShap, ubjson
from tests.forests.models import LIGHTGBM, XGBOOST, labels, lgb, table, xgb


def test_a_forest_is_pinned_by_its_file(tmp_path: Path) -> None:
    XGBOOST["binary"](tmp_path, 1)
    path = tmp_path / "model.ubj"
    assert Forest(path).sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert Forest(str(path)).names == tuple(f"column {number}" for number in range(6))
    assert repr(Forest(path)) == "Forest(xgboost: 8 trees, 6 columns, 1 outputs, 8 rounds)"


def test_names_come_from_the_file(tmp_path: Path) -> None:
    x, score = table(1)
    names = ["age", "amount", "sex", "rate", "a b", "z"]
    data = xgboost.DMatrix(x, labels(score, 2), feature_names=names)
    xgboost.train({"nthread": 1}, data, 2).save_model(tmp_path / "x.json")
    assert Forest(tmp_path / "x.json").names == tuple(names)
    data = lightgbm.Dataset(x, labels(score, 2), feature_name=["p", "q", "r", "s", "t", "u"])
    lightgbm.train({"verbose": -1, "num_threads": 1}, data, 2).save_model(tmp_path / "x.txt")
    assert Forest(tmp_path / "x.txt").names == ("p", "q", "r", "s", "t", "u")


def test_arrays_outlive_treelites_model(tmp_path: Path) -> None:
    """treelite's fields are views of memory that it frees: what a forest keeps must be copies."""
    XGBOOST["deep"](tmp_path, 1)
    forest = Forest(tmp_path / "model.ubj")
    before = [tree.cover.copy() for tree in forest._ensemble.trees]
    gc.collect()
    _ = [np.full(1000, 7.0) for _ in range(200)]
    assert all(np.array_equal(a, b.cover) for a, b in zip(before, forest._ensemble.trees, strict=True))
    assert all(tree.cover.flags.owndata or tree.cover.base is not None for tree in forest._ensemble.trees)
    text = json.loads(_as_json(tmp_path))["learner"]["gradient_booster"]["model"]["trees"]
    for tree, stored in zip(forest._ensemble.trees, text, strict=True):
        assert tree.cover.sum() == pytest.approx(sum(stored["sum_hessian"]))


def _as_json(folder: Path) -> bytes:
    booster = xgboost.Booster(model_file=folder / "model.ubj")
    return bytes(booster.save_raw("json"))


def test_early_stopping_is_said_and_can_be_followed(tmp_path: Path) -> None:
    x, score = table(1)
    y = labels(score + np.random.default_rng(0).normal(size=len(score)) * 2, 2)

    def stop(data: Any) -> dict[str, Any]:
        return {"evals": [(data(x[:80], y[:80]), "held")], "early_stopping_rounds": 3, "verbose_eval": False}

    model = xgb(tmp_path, x[80:], y[80:], rounds=200, train=stop)
    best = model.forest.best_rounds
    assert best is not None
    assert 1 <= best < model.forest.rounds < 200
    assert f"{model.forest.rounds} rounds (early stopping marked {best} as best)" in repr(model.forest)
    assert np.abs(TreeShap(model.forest).values(x[80:]) - model.values).max() < 1e-5, "the file's default: all rounds"
    fewer = Forest(tmp_path / "model.ubj", rounds=best)
    booster = xgboost.Booster(model_file=tmp_path / "model.ubj")
    theirs = booster.predict(
        xgboost.DMatrix(x, feature_types=["q"] * 6), pred_contribs=True, iteration_range=(0, best)
    )[:, None, :-1]
    assert np.abs(TreeShap(fewer).values(x) - theirs).max() < 1e-5
    with pytest.raises(ArgumentError, match="expected `rounds` from 1 to"):
        Forest(tmp_path / "model.ubj", rounds=0)


# --- refusals


def test_a_linear_booster(tmp_path: Path) -> None:
    x, score = table(1)
    for suffix in ("json", "ubj"):
        booster = xgboost.train({"booster": "gblinear", "nthread": 1}, xgboost.DMatrix(x, score), 2)
        booster.save_model(tmp_path / f"m.{suffix}")
        with pytest.raises(StoredDataError, match="expected a tree booster, got gblinear"):
            Forest(tmp_path / f"m.{suffix}")


def test_linear_trees(tmp_path: Path) -> None:
    x, score = table(1)
    options = {"linear_tree": True, "verbose": -1, "num_threads": 1}
    lightgbm.train(options, lightgbm.Dataset(x, score, params=options), 2).save_model(tmp_path / "m.txt")
    with pytest.raises(StoredDataError, match="is linear in its leaves"):
        Forest(tmp_path / "m.txt")


def test_lightgbms_random_forest(tmp_path: Path) -> None:
    """Its contributions are sums though its scores are means."""
    with pytest.raises(StoredDataError, match="LightGBM's random forests are refused"):
        LIGHTGBM["binary"].__globals__["_lgb"](tmp_path, 1, boosting="rf", bagging_freq=1, bagging_fraction=0.5)


@pytest.mark.parametrize("category", [0.5, -1.0, 2.0**32])
def test_categories_that_are_no_small_whole_numbers(category: float) -> None:
    """treelite would take 0.5 for 0, and 2**32 for it as well."""
    x, score = table(1, categories=4)
    x[:, 4] = np.where(x[:, 4] == 3, category, x[:, 4])
    model = ensemble.HistGradientBoostingClassifier(max_iter=2, categorical_features=[4, 5]).fit(x, score > 0)
    with pytest.raises(ArgumentError, match="expected categories that are whole numbers >= 0 in column 4, got"):
        Forest(model)


def test_categories_that_are_words() -> None:
    x = np.array([["a", 1.0], ["b", 2.0], ["c", 1.0]] * 60, dtype=object)
    model = ensemble.HistGradientBoostingClassifier(max_iter=2, categorical_features=[0]).fit(x, [0, 1, 0] * 60)
    with pytest.raises(ArgumentError, match="treelite cannot read the HistGradientBoostingClassifier"):
        Forest(model)


def test_zero_covers(tmp_path: Path) -> None:
    XGBOOST["json"](tmp_path, 1)
    document = json.loads((tmp_path / "model.json").read_text())
    document["learner"]["gradient_booster"]["model"]["trees"][2]["sum_hessian"][1] = 0.0
    (tmp_path / "zero.json").write_text(json.dumps(document))
    with pytest.raises(StoredDataError, match=r"tree 2 has a node that no training data reached \(cover 0\)"):
        Forest(tmp_path / "zero.json")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("sum_hessian", 1e6, "tree 2 has a node whose training data are not those of its children"),
        ("default_left", 2, "tree 2 has a default direction that is none"),
    ],
)
def test_nodes_that_xgboost_would_not_write(name: str, value: float, message: str, tmp_path: Path) -> None:
    """XGBoost's own SHAP values are not those of the definition there, or treelite reads them otherwise."""
    XGBOOST["json"](tmp_path, 1)
    document = json.loads((tmp_path / "model.json").read_text())
    document["learner"]["gradient_booster"]["model"]["trees"][2][name][1] = value
    (tmp_path / "wrong.json").write_text(json.dumps(document))
    with pytest.raises(StoredDataError, match=message):
        Forest(tmp_path / "wrong.json")


def test_a_column_of_categories_that_is_split_by_a_threshold(tmp_path: Path) -> None:
    XGBOOST["json"](tmp_path, 1)
    document = json.loads((tmp_path / "model.json").read_text())
    document["learner"]["feature_types"] = ["c"] * 6
    (tmp_path / "wrong.json").write_text(json.dumps(document))
    with pytest.raises(StoredDataError, match="is split by thresholds and by categories"):
        Forest(tmp_path / "wrong.json")


@pytest.mark.parametrize("base", [1e-6, 0.001, 0.9, 0.999, 0.99999])
@pytest.mark.parametrize("suffix", ["json", "ubj"])
def test_base_scores_are_xgboosts_own(base: float, suffix: str, tmp_path: Path) -> None:
    """It takes logits in float32, treelite in float64: close to 1 they differ by thousands of ties."""
    x, score = table(1)
    options = {"objective": "binary:logistic", "base_score": base, "eta": 0.01, "max_depth": 1, "nthread": 1}
    booster = xgboost.train(options, xgboost.DMatrix(x, score > 0), 1)
    booster.save_model(tmp_path / f"m.{suffix}")
    forest = Forest(tmp_path / f"m.{suffix}")
    margins = booster.predict(xgboost.DMatrix(x), output_margin=True)
    assert (np.abs(TreeShap(forest).scores(x)[:, 0] - margins) < forest.score_tie).all()


@pytest.mark.parametrize("base", [1e-8, 1 - 1e-7])
def test_base_scores_that_xgboost_cuts_off(base: float, tmp_path: Path) -> None:
    x, score = table(1)
    options = {"objective": "binary:logistic", "base_score": base, "max_depth": 1, "nthread": 1}
    xgboost.train(options, xgboost.DMatrix(x, score > 0), 1).save_model(tmp_path / "m.ubj")
    with pytest.raises(StoredDataError, match="expected a base score from 1e-06 to 1 - 1e-06"):
        Forest(tmp_path / "m.ubj")


def test_several_outputs_in_a_leaf(tmp_path: Path) -> None:
    x, score = table(1)
    options = {"multi_strategy": "multi_output_tree", "tree_method": "hist", "nthread": 1}
    booster = xgboost.train(options, xgboost.DMatrix(x, np.stack([score, -score], 1)), 2)
    booster.save_model(tmp_path / "m.ubj")
    with pytest.raises(StoredDataError, match=r"vector in every leaf|treelite cannot read"):
        Forest(tmp_path / "m.ubj")


def test_mixed_missing_cells(tmp_path: Path) -> None:
    model = LIGHTGBM["zero as missing"](tmp_path, 1)
    text = (tmp_path / "model.txt").read_text()
    assert model.forest.library == "lightgbm"
    lines = [line for line in text.splitlines() if line.startswith("decision_type=")]
    changed = lines[0].replace("=4", "=8", 1).replace("=6", "=10", 1)
    assert changed != lines[0]
    (tmp_path / "mixed.txt").write_text(text.replace(lines[0], changed, 1))
    with pytest.raises(StoredDataError, match="treats missing cells differently from split to split"):
        Forest(tmp_path / "mixed.txt")


def test_what_is_no_forest(tmp_path: Path) -> None:
    cases = {
        "a.json": (b"{}", "without its fields"),
        "b.json": (b"[1, 2", "without its fields"),
        "c.ubj": (b"", "ends too early"),
        "d.ubj": (b"{i\x07learner[$d#L\x7f\xff\xff\xff\xff\xff\xff\xff", "promises 9223372036854775807"),
        "e.txt": (b"tree\n", "without its fields"),
        "f.txt": (b"\xff\xfe", "is not text"),
        "g.ubj": (b"[" * 100, "nests more than 64 levels"),
    }
    for name, (content, message) in cases.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(StoredDataError, match=message) as caught:
            Forest(tmp_path / name)
        assert "\n" not in str(caught.value)
    with pytest.raises(ArgumentError, match=r"expected a forest in a file named .json, .ubj, .txt, got model.pkl"):
        Forest("model.pkl")
    with pytest.raises(StoredDataError, match="no such file"):
        Forest(tmp_path / "nothing.ubj")


FUZZ = """
import sys
from pathlib import Path
import numpy as np
from attribound.errors import ArgumentError, StoredDataError
from attribound.forests import Forest
path, count = Path(sys.argv[1]), int(sys.argv[2])
content, rng = bytearray(path.read_bytes()), np.random.default_rng(0)
tried = [content[:end] for end in range(0, len(content), max(1, len(content) // 40))]
for _ in range(count):
    changed = bytearray(content)
    for at in rng.integers(0, len(content), 3):
        changed[at] = int(rng.integers(256)) if path.suffix == ".ubj" else int(rng.choice(list(b"0123456789-. =")))
    tried.append(changed)
broken, errors = path.with_name("broken" + path.suffix), []
for one in tried:
    broken.write_bytes(bytes(one))
    try:
        Forest(broken)
    except (StoredDataError, ArgumentError) as error:
        errors.append(str(error))
assert len(errors) > count // 20 and not any(chr(10) in error for error in errors), errors
"""


@pytest.mark.parametrize("suffix", ["ubj", "json", "txt"])
def test_broken_files_end_in_one_line(suffix: str, tmp_path: Path) -> None:
    """In a process of its own: treelite follows indices unseen, so a wrong one must not reach it."""
    if suffix == "txt":
        LIGHTGBM["categorical"](tmp_path, 1)
    else:
        XGBOOST["categorical"].__globals__["_xgb"](tmp_path, 1, categories=7, max_cat_to_onehot=1, suffix=suffix)
    command = [sys.executable, "-c", FUZZ, str(tmp_path / f"model.{suffix}"), "150"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])


def test_models_that_are_no_forest() -> None:
    x, score = table(1)
    with pytest.raises(ArgumentError, match=r"got sklearn.linear_model._base.LinearRegression"):
        Forest(linear_model.LinearRegression().fit(x, score))
    with pytest.raises(ArgumentError, match="expected a fitted model, got a RandomForestClassifier"):
        Forest(ensemble.RandomForestClassifier())
    with pytest.raises(ArgumentError, match="expected one target, got a RandomForestRegressor with 2"):
        Forest(ensemble.RandomForestRegressor(2).fit(x, np.stack([score, score], 1)))
    with pytest.raises(ArgumentError, match="expected `rounds` with a file only"):
        Forest(ensemble.RandomForestRegressor(2).fit(x, score), rounds=3)


def test_a_model_without_trees_or_splits(tmp_path: Path) -> None:
    """All rows alike: single leaves, no column asked."""
    x = np.zeros((40, 6))
    model = xgb(tmp_path, x, np.arange(40) % 2)
    assert not TreeShap(model.forest).values(x).any()
    assert np.abs(TreeShap(model.forest).scores(x) - model.scores).max() < 1e-6
    model = lgb(tmp_path, x, np.arange(40) % 2)
    assert np.abs(TreeShap(model.forest).scores(x) - model.scores).max() < 1e-6


def test_ubjson_reads_what_json_does(tmp_path: Path) -> None:
    XGBOOST["categorical"](tmp_path, 1)

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(one) for key, one in value.items()}
        if isinstance(value, list | np.ndarray):
            return [plain(one) for one in value]
        return float(np.float32(value)) if isinstance(value, float | int | np.number) else value

    ours = plain(ubjson.decode((tmp_path / "model.ubj").read_bytes()))["learner"]["gradient_booster"]["model"]
    theirs = plain(json.loads(_as_json(tmp_path)))["learner"]["gradient_booster"]["model"]
    assert ours == theirs
