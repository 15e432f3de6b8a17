"""Ties are wider than what the libraries' own sums lose, however deep the trees and however many."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xgboost

from attribound.forests import Forest, TreeShap
from tests.forests.models import labels, table

COLUMNS = 24


@pytest.fixture(scope="module")
def stump() -> dict[str, Any]:
    """An XGBoost model of one split, to be given another tree."""
    x = np.random.default_rng(0).normal(size=(50, COLUMNS))
    options = {"max_depth": 1, "nthread": 1, "objective": "reg:squarederror", "base_score": 0.0}
    return json.loads(xgboost.train(options, xgboost.DMatrix(x, x[:, 0]), 1).save_raw("json"))


def chain(stump: dict[str, Any], columns: list[int], share: float) -> bytes:
    """A tree of one long path: at each split a share goes on, and at its end the leaf is 1."""
    steps = len(columns)
    inner, count = np.arange(0, 2 * steps, 2), 2 * steps + 1
    arrays = {name: np.full(count, -1) for name in ("left_children", "right_children")}
    arrays["left_children"][inner], arrays["right_children"][inner] = inner + 1, inner + 2
    arrays["parents"] = np.append(2147483647, np.repeat(inner, 2))
    arrays["split_indices"] = np.zeros(count, int)
    arrays["split_indices"][inner] = columns
    hessian, condition = np.empty(count), np.zeros(count)
    hessian[np.append(inner, count - 1)] = 1e6 * share ** np.arange(steps + 1)
    hessian[inner + 1] = hessian[inner] * (1 - share)
    condition[inner], condition[-1] = 0.01 * np.arange(steps), 1.0
    arrays |= {"sum_hessian": hessian, "split_conditions": condition, "base_weights": condition}
    arrays |= {
        "loss_changes": np.zeros(count),
        "default_left": np.zeros(count, int),
        "split_type": np.zeros(count, int),
    }
    document = json.loads(json.dumps(stump))
    tree = document["learner"]["gradient_booster"]["model"]["trees"][0]
    tree |= {name: one.tolist() for name, one in arrays.items()}
    tree["tree_param"]["num_nodes"] = str(count)
    return json.dumps(document).encode()


def lost(path: Path, rows: np.ndarray) -> tuple[float, float]:
    """How far XGBoost's SHAP values and scores are from ours, in ties."""
    forest, booster, data = Forest(path), xgboost.Booster(model_file=path), xgboost.DMatrix(rows)
    shap = TreeShap(forest)
    theirs = booster.predict(data, pred_contribs=True)[:, :-1]
    scores = booster.predict(data, output_margin=True)
    values = np.abs(shap.values(rows)[:, 0] - theirs).max() / forest.tie[0]
    return float(values), float(np.abs(shap.scores(rows)[:, 0] - scores).max() / forest.score_tie[0])


@pytest.mark.parametrize("share", [0.7, 0.9, 0.97])
@pytest.mark.parametrize(("columns", "times"), [(6, 1), (12, 1), (18, 1), (24, 1), (5, 8), (8, 4), (12, 4)])
def test_long_paths(stump: dict[str, Any], columns: int, times: int, share: float, tmp_path: Path) -> None:
    """XGBoost takes columns off a path one by one, which multiplies what it rounds."""
    (tmp_path / "m.json").write_bytes(chain(stump, list(range(columns)) * times, share))
    rows = np.where(np.random.default_rng(1).random((60, COLUMNS)) < 0.9, 5.0, -5.0)
    rows[0] = 5.0
    assert lost(tmp_path / "m.json", rows)[0] < 1


def test_short_paths_have_narrow_ties(tmp_path: Path) -> None:
    x, score = table(1)
    booster = xgboost.train({"max_depth": 6, "nthread": 1}, xgboost.DMatrix(x, labels(score, 2)), 4)
    booster.save_model(tmp_path / "m.ubj")
    forest = Forest(tmp_path / "m.ubj")
    assert (forest.tie <= 2e-6 * forest.magnitude).all()


@pytest.mark.parametrize("objective", ["binary:logistic", "reg:squarederror"])
def test_many_trees(objective: str, tmp_path: Path) -> None:
    """Each of thousands of additions rounds, and all may round the same way."""
    x = np.random.default_rng(0).normal(size=(100, 4))
    y = (x[:, 0] + 0.3 * x[:, 1] > 0).astype(float) + (100 if objective.startswith("reg") else 0)
    options = {"max_depth": 1, "eta": 0.001, "base_score": 0.5, "nthread": 1, "objective": objective}
    xgboost.train(options, xgboost.DMatrix(x, y), 5000).save_model(tmp_path / "m.ubj")
    assert max(lost(tmp_path / "m.ubj", x)) < 0.5
