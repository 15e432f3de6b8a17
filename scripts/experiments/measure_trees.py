"""Exact tolerances of tree ensembles.

`python scripts/experiments/measure_trees.py --data DIR [--only NAME ...] [--items N]`.

DIR holds what `attribound data fetch german-credit DIR` and `attribound data fetch adult DIR` write. Every setting
trains its model (seeds below), asks for each held-out row how far its first reason holds, hands the nearest change to
the library itself, and tries points strictly inside. Writes `results/trees.json` and `.md`, setting by setting: run
again to resume. Processor seconds of one thread.
"""

import argparse
import csv
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import xgboost
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

from attribound.forests import Forest, TreeShap, tolerance
from attribound.forests.attack import random_moves, threshold_moves
from attribound.forests.cells import Movement, movements, neighbours
from attribound.forests.nearest import sweep_columns
from attribound.forests.sizes import size_named
from attribound.forests.statements import decide, make_statements
from attribound.rounding import round_down

OUT = Path(__file__).parents[2] / "results" / "trees"
XGBOOST = {"objective": "binary:logistic", "eta": 0.1, "subsample": 0.8, "min_child_weight": 5, "nthread": 1, "seed": 0}
SECONDS = 10.0
"""Of processor time: an answer that takes longer does not count as exact."""
PATIENCE = 12
"""Wall time may be this many times as long: other programs run beside this one."""


@dataclass(frozen=True)
class Data:
    """A table: training rows, labels, held-out rows, which columns hold categories."""

    train: np.ndarray
    labels: np.ndarray
    held: np.ndarray
    names: tuple[str, ...]
    categorical: np.ndarray
    whole: bool


@dataclass(frozen=True)
class Model:
    """A forest and its library's own SHAP values, (rows, outputs, columns)."""

    forest: Forest
    explain: Callable[[np.ndarray], np.ndarray]


def table(path: Path, label: str, words: dict[str, list[str]]) -> tuple[np.ndarray, np.ndarray, tuple[str, ...], Any]:
    """A CSV file as numbers; categories are numbered in the order of their words, the same for all files."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    names = tuple(name for name in rows[0] if name != label)
    columns, categorical = [], []
    for name in names:
        cells = [row[name] for row in rows]
        try:
            columns.append([float(cell) if cell else np.nan for cell in cells])
            categorical.append(False)
        except ValueError:
            known = words.setdefault(name, sorted({*cells} - {""}))
            columns.append([known.index(cell) if cell in known else np.nan for cell in cells])
            categorical.append(True)
    return np.array(columns).T, np.array([row[label] for row in rows]), names, np.array(categorical)


def german(folder: Path) -> Data:
    """1,000 applicants, 700 for training; every number is a whole one."""
    x, y, names, categorical = table(folder / "german-credit.csv", "credit", {})
    order = np.random.default_rng(7).permutation(len(x))
    train, held = order[:700], order[700:]
    return Data(x[train], (y[train] == "bad").astype(int), x[held], names, categorical, whole=True)


def adult(folder: Path) -> Data:
    """Census income, the published split; every number is a whole one."""
    words: dict[str, list[str]] = {}
    x, y, names, categorical = table(folder / "adult.csv", "income", words)
    held, *_ = table(folder / "adult-test.csv", "income", words)
    return Data(x, (y == ">50K").astype(int), held, names, categorical, whole=True)


def breast_cancer(folder: Path) -> Data:
    """569 tumours, 400 for training; 30 measurements."""
    data = load_breast_cancer()
    order = np.random.default_rng(7).permutation(len(data.data))
    train, held = order[:400], order[400:]
    names = tuple(map(str, data.feature_names))
    return Data(data.data[train], data.target[train], data.data[held], names, np.zeros(30, bool), whole=False)


def train_xgboost(data: Data, folder: Path, *, depth: int, trees: int, **options: Any) -> Model:
    types = ["c" if one else "q" for one in data.categorical]

    def matrix(rows: np.ndarray, *labels: np.ndarray) -> xgboost.DMatrix:
        return xgboost.DMatrix(
            rows, *labels, feature_names=list(data.names), feature_types=types, enable_categorical=True
        )

    booster = xgboost.train(XGBOOST | {"max_depth": depth} | options, matrix(data.train, data.labels), trees)
    booster.save_model(folder / "model.ubj")
    explain = lambda rows: booster.predict(matrix(rows), pred_contribs=True)[:, None, :-1].astype(float)  # noqa: E731
    return Model(Forest(folder / "model.ubj"), explain)


def train_lightgbm(data: Data, folder: Path, *, depth: int, trees: int) -> Model:
    options = {"objective": "binary", "max_depth": depth, "num_leaves": 2**depth, "verbose": -1, "num_threads": 1}
    options |= {"learning_rate": 0.1, "seed": 0}
    listed = [int(column) for column in np.flatnonzero(data.categorical)]
    booster = lightgbm.train(options, lightgbm.Dataset(data.train, data.labels, categorical_feature=listed), trees)
    booster.save_model(folder / "model.txt")
    return Model(Forest(folder / "model.txt"), lambda rows: booster.predict(rows, pred_contrib=True)[:, None, :-1])


def train_forest(data: Data, folder: Path, *, depth: int, trees: int) -> Model:
    model = RandomForestClassifier(trees, max_depth=depth, random_state=0, n_jobs=1).fit(data.train, data.labels)
    forest = Forest(model)
    return Model(forest, TreeShap(forest).values)  # scikit-learn does not explain


SETTINGS: dict[str, dict[str, Any]] = {
    "german-numeric": {"data": german, "train": train_xgboost, "depth": 4, "trees": 150, "items": 200},
    "german-each": {"data": german, "train": train_xgboost, "depth": 4, "trees": 150, "items": 200, "size": "each"},
    "german-all": {"data": german, "train": train_xgboost, "depth": 4, "trees": 150, "items": 200, "all": True},
    "german-real": {"data": german, "train": train_xgboost, "depth": 4, "trees": 150, "items": 200, "real": True},
    "german-lightgbm": {"data": german, "train": train_lightgbm, "depth": 4, "trees": 150, "items": 200},
    "breast-cancer": {"data": breast_cancer, "train": train_xgboost, "depth": 3, "trees": 80, "items": 169},
    "breast-cancer-forest": {
        "data": breast_cancer,
        "train": train_forest,
        "depth": 4,
        "trees": 100,
        "items": 100,
        "points": 4096,
    },
    "adult-4": {"data": adult, "train": train_xgboost, "depth": 4, "trees": 150, "items": 1000, "points": 512},
    "adult-6": {"data": adult, "train": train_xgboost, "depth": 6, "trees": 300, "items": 1000, "points": 512},
    "german-stays": {"data": german, "train": train_xgboost, "depth": 4, "trees": 150, "items": 60, "keep": "stays:4"},
}
"""`all`: categories move too, a changed answer counts one unit; `real`: numbers need not stay whole."""
POINTS = 2**14
"""Tried inside, per row."""


def freedom(data: Data, setting: dict[str, Any]) -> dict[str, Any]:
    units = np.nanstd(data.train, axis=0)
    units[data.categorical] = 1.0 if setting.get("all") else 0.0
    whole = data.whole and not setting.get("real")
    numbers = [name for name, listed in zip(data.names, data.categorical, strict=True) if not listed]
    return {"scale": units, "whole": numbers if whole else []}


def renamed(free: dict[str, Any], data: Data, forest: Forest) -> dict[str, Any]:
    """The forest's own names: LightGBM and scikit-learn number the columns."""
    return free | {"whole": [forest.names[data.names.index(name)] for name in free["whole"]]}


def measure(setting: dict[str, Any], data: Data, model: Model, items: int, minutes: float) -> dict[str, Any]:
    """All rows of one setting, or as many as fit into the minutes."""
    shap, size = TreeShap(model.forest), setting.get("size", "l2")
    free = renamed(freedom(data, setting), data, model.forest)
    keep = setting.get("keep", "first")
    shap.explain(data.held[:1])  # the tables belong to the model
    moves = movements(model.forest.names, model.forest.categorical, fixed=(), choices=None, missing=False, **free)
    rng, points = np.random.default_rng(0), setting.get("points", POINTS)
    answers, rows, end = [], data.held[:items], time.process_time() + 60 * minutes
    for number, row in enumerate(rows):
        if time.process_time() > end:
            rows = rows[:number]
            break
        started = time.process_time()
        sheet = tolerance(shap, row, keep=keep, size=size, seconds=PATIENCE * SECONDS, boxes=10**6, **free)
        seconds = time.process_time() - started
        started = time.process_time()
        decision = decide(shap, row, target=None, side=None, threshold=0.0)
        statements = make_statements(model.forest, decision, keep, threshold=0.0)
        sweep_columns(shap, statements, neighbours(shap.forest.axes, row, _free(moves)))
        columns = time.process_time() - started
        for part, statement in zip(sheet.parts, statements, strict=True):
            each = seconds / len(statements)
            answer = {"reach": part.together.reach, "exact": part.together.exact and each <= SECONDS, "seconds": each}
            answer |= {"columns": columns, "boxes": part.together.boxes, "reason": part.reason}
            answer |= confirm(model, statement, part)
            answer |= attack(shap, statement, row, moves, size=size, reach=part.together.reach, count=points, rng=rng)
            answers.append(answer)
    return summary(answers, len(rows)) | {"first reason, second, ...": by_reason(answers, len(statements))}


def _free(moves: tuple[Movement, ...]) -> tuple[Movement, ...]:
    return tuple(Movement(1.0, one.whole, None, missing=True) for one in moves)


def confirm(model: Model, statement: Any, part: Any) -> dict[str, Any]:
    """Whether the library's own values break the statement at the nearest change; ties within rounding count."""
    if part.together.nearest is None or not part.together.exact:
        return {"claimed": 0, "confirmed": 0}
    margins = statement.margins(model.explain(part.together.nearest[None])) - statement.tie
    return {"claimed": 1, "confirmed": int(not statement.holds(margins)[0])}


def attack(
    shap: TreeShap,
    statement: Any,
    row: np.ndarray,
    moves: tuple[Movement, ...],
    *,
    size: str,
    reach: float,
    count: int,
    rng: np.random.Generator,
) -> dict[str, int]:
    """Points strictly inside the reach at which the statement fails."""
    if reach == 0:
        return {"points": 0, "false": 0}
    near, measure_ = neighbours(shap.forest.axes, row, moves), size_named(size)
    tried = threshold_moves(near, measure_, reach=reach, count=count // 2, rng=rng)
    numeric = [not listed for listed in shap.forest.categorical]
    others = random_moves(row, moves, numeric, measure_, reach=reach, count=count // 2, rng=rng)
    rows = np.concatenate([tried, others])
    # Above the tie is proved; the attack counts what is lost beyond rounding.
    lost = ~statement.holds(statement.margins(shap.values(rows)) + 1e-6 * statement.tie)
    return {"points": len(rows), "false": int(lost.sum())}


def summary(answers: list[dict[str, Any]], rows: int) -> dict[str, Any]:
    reaches, seconds = (np.array([one[key] for one in answers]) for key in ("reach", "seconds"))
    return {
        "rows": rows,
        "exact": float(np.mean([one["exact"] for one in answers])),
        "median_reach": float(np.median(reaches)),
        "quartiles": [float(one) for one in np.quantile(reaches, [0.25, 0.75], method="lower")],
        "any_change": float(np.mean(np.isinf(reaches))),
        "median_seconds": float(np.median(seconds)),
        "p95_seconds": float(np.quantile(seconds, 0.95)),
        "slowest_seconds": float(seconds.max()),
        "columns_seconds": float(np.median([one["columns"] for one in answers])),
        "median_boxes": float(np.median([one["boxes"] for one in answers])),
        **{key: int(sum(one[key] for one in answers)) for key in ("points", "false", "claimed", "confirmed")},
    }


def by_reason(answers: list[dict[str, Any]], count: int) -> list[float | None]:
    """The median reach of each statement about a row; None: any change."""
    medians = [float(np.median([one["reach"] for one in answers[place::count]])) for place in range(count)]
    return [None if np.isinf(median) else median for median in medians]


def markdown(results: dict[str, Any]) -> str:
    head = "| setting | rows | exact | median reach | any change | median s | slowest s | columns s | "
    head += "inside, tried | false | nearest, confirmed |"
    lines = ["# Exact tolerances of tree ensembles", "", *ABOUT, "", head, "|" + "---|" * 11]
    for name, one in results.items():
        cells = [name, str(one["rows"]), round_down(Decimal(repr(one["exact"])), 3), reach_text(one["median_reach"])]
        cells += [round_down(one["any_change"], 3), f"{one['median_seconds']:.3f}", f"{one['slowest_seconds']:.2f}"]
        cells += [f"{one['columns_seconds']:.3f}", f"{one['points']:,}", str(one["false"])]
        cells.append(f"{one['confirmed']} of {one['claimed']}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, *solidity(results)]) + "\n"


def reach_text(reach: float | None) -> str:
    return "any change" if reach is None or np.isinf(reach) else round_down(reach, 4)


def solidity(results: dict[str, Any]) -> list[str]:
    """How solid each of several reasons is, a sentence per setting."""
    said = []
    for name, one in results.items():
        reaches = one["first reason, second, ..."]
        if len(reaches) > 1:
            each = ", ".join(map(reach_text, reaches))
            said += ["", f"`{name}`: the median reach of the first reason, the second, and so on: {each}."]
    return said


ABOUT = (
    "Made by `python scripts/experiments/measure_trees.py --data DIR`. The first reason stays first; sizes in",
    "standard deviations of the training data, l2 unless `each`; processor seconds of one thread; an answer that",
    "takes more than 10 of them does not count as exact. German credit (150 trees of depth 4; 700 applicants for",
    "training, the next ones of the permutation with numpy seed 7 held out), Adult (the published split, the first",
    "rows of its test file; `adult-4`: 150 trees of depth 4, `adult-6`: 300 of depth 6), breast cancer (numpy seed 7,",
    "400 for training; 80 trees of depth 3; 100 of depth 4 in the random forest). Every model has seed 0. Whole",
    "numbers move in whole numbers, except in `german-real`. `german-all`: categories move too, a changed answer",
    "counts one unit. `german-stays`: each of four reasons stays among the four. `any change`: no change of these",
    "columns whatever breaks it. XGBoost unless named otherwise; scikit-learn has no SHAP values, so the random",
    "forest's nearest changes are confirmed by our own values of whole rows.",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", choices=SETTINGS, nargs="+", default=[])
    parser.add_argument("--items", type=int)
    parser.add_argument("--minutes", type=float, default=25.0, help="of processor time for a setting")
    chosen = parser.parse_args()
    path = OUT.with_suffix(".json")
    results = json.loads(path.read_text()) if path.exists() else {}
    for name in chosen.only or SETTINGS:
        if name in results and not chosen.only:
            continue
        setting = SETTINGS[name]
        data = setting["data"](chosen.data)
        with tempfile.TemporaryDirectory() as folder:
            model = setting["train"](data, Path(folder), depth=setting["depth"], trees=setting["trees"])
        results[name] = measure(setting, data, model, chosen.items or setting["items"], chosen.minutes)
        results = {one: results[one] for one in SETTINGS if one in results}
        path.write_text(json.dumps(results, indent=1) + "\n")
        OUT.with_suffix(".md").write_text(markdown(results))
        print(name, json.dumps(results[name]), flush=True)


if __name__ == "__main__":
    main()
