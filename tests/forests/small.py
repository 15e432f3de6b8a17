"""Small random models and questions whose answers can be found by trying everything."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import xgboost
from sklearn import ensemble

from attribound.forests import Forest, Part, Sheet, TreeShap, tolerance
from attribound.forests.cells import movements
from tests.forests.models import fit
from tests.reference import forest_cells

KINDS = ("xgboost", "xgboost categorical", "xgboost classes", "lightgbm", "lightgbm categorical", "forest", "histogram")


@dataclass(frozen=True)
class Small:
    forest: Forest
    rows: np.ndarray
    explain: Callable[[np.ndarray], np.ndarray]


def make(kind: str, seed: int, folder: Path) -> Small:
    """Three columns, a few trees of depth 2 or 3; values on a coarse lattice, so that rows hit thresholds."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    x = np.round(rng.normal(size=(120, 3)) * 2, int(rng.integers(0, 2)))
    categorical = "categorical" in kind
    if categorical:
        x[:, 2] = rng.integers(0, 4, 120)
    score = x @ rng.normal(size=3) + x[:, 0] * x[:, 1] + rng.normal(size=120)
    if kind != "forest":
        x[rng.random(x.shape) < rng.choice([0.0, 0.15])] = np.nan
    classes = 3 if "classes" in kind else 2
    y = np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)
    return _TRAIN[kind.split()[0]](x, y, rng, folder, categorical)


def _xgboost(x: np.ndarray, y: np.ndarray, rng: Any, folder: Path, categorical: bool) -> Small:
    types = ["q", "q", "c" if categorical else "q"]
    several = {"objective": "multi:softprob", "num_class": 3} if y.max() > 1 else {"objective": "binary:logistic"}
    options = {"max_depth": int(rng.integers(1, 4)), "eta": 0.5, "nthread": 1, "max_cat_to_onehot": 1, **several}
    data = lambda rows, *more: xgboost.DMatrix(rows, *more, feature_types=types, enable_categorical=True)  # noqa: E731
    booster = xgboost.train(options, data(x, y), int(rng.integers(1, 4)))
    booster.save_model(folder / "m.ubj")

    def explain(rows: np.ndarray) -> np.ndarray:
        values = booster.predict(data(rows), pred_contribs=True).astype(float)
        return values if values.ndim == 3 else values[:, None]

    return Small(Forest(folder / "m.ubj"), x, explain)


def _lightgbm(x: np.ndarray, y: np.ndarray, rng: Any, folder: Path, categorical: bool) -> Small:
    options = {"objective": "binary", "num_leaves": int(rng.integers(2, 7)), "verbose": -1, "num_threads": 1}
    options |= {"min_data_in_leaf": 5, "min_data_per_group": 1, "cat_smooth": 1.0, "max_cat_to_onehot": 1}
    options |= {"zero_as_missing": bool(rng.integers(2)), "learning_rate": 0.5}
    data = lightgbm.Dataset(x, y, categorical_feature=[2] if categorical else [])
    booster = lightgbm.train(options, data, int(rng.integers(1, 4)))
    booster.save_model(folder / "m.txt")
    return Small(Forest(folder / "m.txt"), x, lambda rows: booster.predict(rows, pred_contrib=True)[:, None])


def _forest(x: np.ndarray, y: np.ndarray, rng: Any, folder: Path, categorical: bool) -> Small:
    depth, count = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    model = fit(ensemble.RandomForestClassifier(count, max_depth=depth, random_state=int(rng.integers(99))), x, y)
    return _ours(Forest(model), x)


def _histogram(x: np.ndarray, y: np.ndarray, rng: Any, folder: Path, categorical: bool) -> Small:
    model = ensemble.HistGradientBoostingClassifier(
        max_iter=2, max_leaf_nodes=int(rng.integers(2, 6)), min_samples_leaf=5, random_state=0
    )
    return _ours(Forest(fit(model, x, y)), x)


def _ours(forest: Forest, x: np.ndarray) -> Small:
    """scikit-learn does not explain: our values, which are tested against shap and the definition."""
    shap = TreeShap(forest)

    def explain(rows: np.ndarray) -> np.ndarray:
        values = shap.values(rows)
        bias = np.broadcast_to(forest.expected[None, :, None], (*values.shape[:2], 1))
        return np.concatenate([values, bias], axis=2)

    return Small(forest, x, explain)


_TRAIN = {"xgboost": _xgboost, "lightgbm": _lightgbm, "forest": _forest, "histogram": _histogram}


def question(seed: int, forest: Forest, row: np.ndarray) -> dict[str, Any]:
    """A random statement, size and freedom."""
    rng = np.random.default_rng([seed, 77])
    whole = [name for name, value in zip(forest.names, row, strict=True) if value == np.floor(value)]
    whole = [name for name in whole if not forest.categorical[forest.names.index(name)]]
    return {
        "keep": str(rng.choice(["first", "stays:2", "top:1", "top:2", "sign", "class"])),
        "size": str(rng.choice(["l2", "each", "count"])),
        "scale": np.where(rng.random(3) < 0.15, 0.0, rng.uniform(0.3, 2, 3)),
        "missing": bool(rng.integers(2)),
        "whole": whole if rng.random() < 0.4 else [],
    }


@dataclass(frozen=True)
class Reference:
    """What trying everything says: the reach if near ties count as lost, and if they count as kept."""

    least: float
    most: float
    inside: Callable[[np.ndarray], np.ndarray]


def reference(model: Small, row: np.ndarray, asked: dict[str, Any], sheet: Sheet, part: Part) -> Reference:
    ensemble_ = model.forest._ensemble
    free = {name: asked[name] for name in ("scale", "missing", "whole")}
    moves = movements(model.forest.names, model.forest.categorical, fixed=(), choices=None, **free)
    grid, distances = forest_cells.points(ensemble_, row, moves)
    margins = statement_margins(model, row, asked["keep"], sheet, part)
    found, far = margins(grid), forest_cells.sizes(distances, asked["size"])
    tie = model.forest.tie.sum()
    lost, surely = found <= 3 * tie, found <= -tie
    return Reference(float(far[lost].min(initial=np.inf)), float(far[surely].min(initial=np.inf)), margins)


def statement_margins(
    model: Small, row: np.ndarray, keep: str, sheet: Sheet, part: Part
) -> Callable[[np.ndarray], np.ndarray]:
    """The statement's margin at any rows, by the library's values."""
    names = model.forest.names
    told = {
        "order": np.array([names.index(name) for name in sheet.reasons]),
        "side": sheet.side,
        "target": sheet.target,
    }
    at_row = model.explain(row[None])
    first = told["order"][0]
    told["positive"] = sheet.side * at_row[0, sheet.target, first] > 0
    sides = model.forest.decides != "classes"
    told["above"] = bool(at_row[0, sheet.target].sum() > 0) if sides else None
    reason = names.index(part.reason) if part.reason and keep.startswith("stays") else None

    def margins(rows: np.ndarray) -> np.ndarray:
        values = model.explain(rows)
        return forest_cells.margin(keep, reason, told, values[:, :, :-1], values.sum(axis=2))

    return margins


def ask(model: Small, row: np.ndarray, asked: dict[str, Any]) -> Sheet:
    return tolerance(TreeShap(model.forest), row, **asked)
