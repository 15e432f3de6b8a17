"""Small models of every kind, with the library's own answers beside them."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import xgboost
from sklearn import ensemble

from attribound.forests import Forest

COLUMNS = 6


@dataclass(frozen=True)
class Known:
    """A forest with what its library says: rows, SHAP values (rows, outputs, columns), scores (rows, outputs)."""

    forest: Forest
    rows: np.ndarray
    values: np.ndarray
    scores: np.ndarray
    explain: Callable[[np.ndarray], np.ndarray]


def table(seed: int, rows: int = 400, *, missing: float = 0.0, categories: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Numbers with a score that depends on several of them; the last two columns may hold categories."""
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(size=(rows, COLUMNS)), 2)
    if categories:
        x[:, 4:] = rng.integers(0, categories, size=(rows, 2))
    weights = rng.normal(size=(2, 8))
    score = x @ rng.normal(size=COLUMNS) + x[:, 0] * x[:, 1]
    if categories:
        score = x[:, :4] @ rng.normal(size=4) + weights[0, x[:, 4].astype(int)] * 2 + weights[1, x[:, 5].astype(int)]
    x[rng.random(x.shape) < missing] = np.nan
    return x, score


def labels(score: np.ndarray, classes: int) -> np.ndarray:
    return np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)


def _three(values: np.ndarray) -> np.ndarray:
    """(rows, outputs, columns + 1), whatever the library's shape."""
    return values if values.ndim == 3 else values[:, None]


def xgb(
    folder: Path,
    x: np.ndarray,
    y: np.ndarray,
    *,
    rounds: int = 8,
    used: int | None = None,
    suffix: str = "ubj",
    categorical: bool = False,
    train: dict[str, Any] | None = None,
    weight: np.ndarray | None = None,
    **options: Any,
) -> Known:
    types = ["q"] * 4 + (["c"] * 2 if categorical else ["q"] * 2)
    data = lambda rows, *target, **more: xgboost.DMatrix(  # noqa: E731
        rows, *target, feature_types=types, enable_categorical=categorical, **more
    )
    settings = {"max_depth": 3, "nthread": 1, "seed": 0, "objective": "binary:logistic"} | options
    booster = xgboost.train(settings, data(x, y, weight=weight), rounds, **(train(data) if train else {}))
    path = folder / f"model.{suffix}"
    booster.save_model(path)
    forest = Forest(path, rounds=used)
    reach = {} if used is None else {"iteration_range": (0, used)}
    explain = lambda rows: _three(booster.predict(data(rows), pred_contribs=True, **reach))[:, :, :-1]  # noqa: E731
    scores = booster.predict(data(x), output_margin=True, **reach).reshape(len(x), -1)
    return Known(forest, x, explain(x), scores, explain)


def lgb(
    folder: Path,
    x: np.ndarray,
    y: np.ndarray,
    *,
    rounds: int = 8,
    categorical: bool = False,
    weight: np.ndarray | None = None,
    **options: Any,
) -> Known:
    settings = {"num_leaves": 8, "num_threads": 1, "verbose": -1, "seed": 0, "objective": "binary"} | options
    settings |= {"min_data_in_leaf": 5, "min_data_per_group": 1, "cat_smooth": 1.0, "max_cat_to_onehot": 1}
    data = lightgbm.Dataset(x, y, weight=weight, categorical_feature=[4, 5] if categorical else [])
    booster = lightgbm.train(settings, data, rounds)
    path = folder / "model.txt"
    booster.save_model(path)
    forest = Forest(path)

    def explain(rows: np.ndarray) -> np.ndarray:
        found = booster.predict(rows, pred_contrib=True)
        return found.reshape(len(rows), -1, COLUMNS + 1)[:, :, :-1]

    scores = booster.predict(x, raw_score=True).reshape(len(x), -1)
    return Known(forest, x, explain(x), scores, explain)


def fit(model: Any, x: np.ndarray, y: np.ndarray, **more: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(x, y, **more)


XGBOOST = {
    "binary": lambda folder, seed: _xgb(folder, seed),
    "json": lambda folder, seed: _xgb(folder, seed, suffix="json"),
    "regression": lambda folder, seed: _xgb(folder, seed, classes=0, objective="reg:squarederror"),
    "classes": lambda folder, seed: _xgb(folder, seed, classes=4, objective="multi:softprob", num_class=4),
    "missing": lambda folder, seed: _xgb(folder, seed, missing=0.2),
    "categorical": lambda folder, seed: _xgb(folder, seed, categories=7, max_cat_to_onehot=1, missing=0.1),
    "onehot": lambda folder, seed: _xgb(folder, seed, categories=5, max_cat_to_onehot=9),
    "dart": lambda folder, seed: _xgb(folder, seed, booster="dart", rate_drop=0.5),
    "parallel": lambda folder, seed: _xgb(
        folder,
        seed,
        num_parallel_tree=3,
        subsample=0.7,
        colsample_bynode=0.7,
        classes=3,
        objective="multi:softmax",
        num_class=3,
    ),
    "weights": lambda folder, seed: _xgb(folder, seed, weights=True),
    "pruned": lambda folder, seed: _xgb(folder, seed, tree_method="exact", gamma=5.0, max_depth=5),
    "lossguide": lambda folder, seed: _xgb(folder, seed, grow_policy="lossguide", max_leaves=12, max_depth=0),
    "some rounds": lambda folder, seed: _xgb(folder, seed, used=3),
    "poisson": lambda folder, seed: _xgb(folder, seed, classes=3, objective="count:poisson", base_score=2.0),
    "deep": lambda folder, seed: _xgb(folder, seed, max_depth=7),
}
LIGHTGBM = {
    "binary": lambda folder, seed: _lgb(folder, seed),
    "regression": lambda folder, seed: _lgb(folder, seed, classes=0, objective="regression"),
    "classes": lambda folder, seed: _lgb(folder, seed, classes=3, objective="multiclass", num_class=3),
    "missing": lambda folder, seed: _lgb(folder, seed, missing=0.2),
    "categorical": lambda folder, seed: _lgb(folder, seed, categories=7, missing=0.1),
    "dart": lambda folder, seed: _lgb(folder, seed, boosting="dart", drop_rate=0.5),
    "weights": lambda folder, seed: _lgb(folder, seed, weights=True),
    "zero as missing": lambda folder, seed: _lgb(folder, seed, zeros=0.3, missing=0.1, zero_as_missing=True),
    "missing off": lambda folder, seed: _lgb(folder, seed, zeros=0.3, missing=0.1, use_missing=False),
    "zeros": lambda folder, seed: _lgb(folder, seed, zeros=0.5),
    "deep": lambda folder, seed: _lgb(folder, seed, num_leaves=31),
}
SKLEARN = {
    "forest": lambda seed: _sk(ensemble.RandomForestClassifier(6, max_depth=4, random_state=seed), seed),
    "forest of classes": lambda seed: _sk(
        ensemble.RandomForestClassifier(6, max_depth=5, random_state=seed, class_weight="balanced"), seed, classes=4
    ),
    "forest missing": lambda seed: _sk(
        ensemble.RandomForestClassifier(6, max_depth=4, random_state=seed), seed, missing=0.2
    ),
    "forest regression": lambda seed: _sk(
        ensemble.RandomForestRegressor(6, max_depth=4, random_state=seed), seed, classes=0
    ),
    "extra": lambda seed: _sk(ensemble.ExtraTreesClassifier(6, max_depth=4, random_state=seed), seed, classes=3),
    "extra regression": lambda seed: _sk(
        ensemble.ExtraTreesRegressor(6, max_depth=4, random_state=seed), seed, classes=0
    ),
    "boosting": lambda seed: _sk(ensemble.GradientBoostingClassifier(n_estimators=6, random_state=seed), seed),
    "boosting regression": lambda seed: _sk(
        ensemble.GradientBoostingRegressor(n_estimators=6, random_state=seed), seed, classes=0
    ),
    "boosting stopped": lambda seed: _sk(
        ensemble.GradientBoostingClassifier(n_estimators=300, n_iter_no_change=2, random_state=seed, learning_rate=0.5),
        seed,
    ),
    "histogram": lambda seed: _sk(
        ensemble.HistGradientBoostingClassifier(max_iter=6, max_leaf_nodes=8, random_state=seed), seed, missing=0.2
    ),
    "histogram of classes": lambda seed: _sk(
        ensemble.HistGradientBoostingClassifier(max_iter=4, max_leaf_nodes=8, random_state=seed), seed, classes=3
    ),
    "histogram regression": lambda seed: _sk(
        ensemble.HistGradientBoostingRegressor(max_iter=6, max_leaf_nodes=8, random_state=seed), seed, classes=0
    ),
    "histogram categorical": lambda seed: _sk(
        ensemble.HistGradientBoostingClassifier(
            max_iter=6, max_leaf_nodes=8, random_state=seed, categorical_features=[4, 5]
        ),
        seed,
        categories=6,
        missing=0.1,
    ),
}


def _target(score: np.ndarray, classes: int) -> np.ndarray:
    return labels(score, classes) if classes else score


def _xgb(folder: Path, seed: int, *, missing: float = 0.0, categories: int = 0, classes: int = 2, weights: bool = False,
         **options: Any) -> Known:  # fmt: skip
    x, score = table(seed, missing=missing, categories=categories)
    weight = np.random.default_rng(seed).uniform(0.2, 3, len(x)) if weights else None
    return xgb(folder, x, _target(score, classes), categorical=bool(categories), weight=weight, **options)


def _lgb(folder: Path, seed: int, *, missing: float = 0.0, categories: int = 0, classes: int = 2, weights: bool = False,
         zeros: float = 0.0, **options: Any) -> Known:  # fmt: skip
    x, score = table(seed, missing=missing, categories=categories)
    rng = np.random.default_rng(seed)
    x[rng.random(x.shape) < zeros] = 0.0
    weight = rng.uniform(0.2, 3, len(x)) if weights else None
    return lgb(folder, x, _target(score, classes), categorical=bool(categories), weight=weight, **options)


def _sk(
    model: Any, seed: int, *, missing: float = 0.0, categories: int = 0, classes: int = 2
) -> tuple[Any, np.ndarray]:
    x, score = table(seed, missing=missing, categories=categories)
    return fit(model, x, _target(score, classes)), x


def sklearn_scores(model: Any, rows: np.ndarray) -> np.ndarray:
    """What the model adds up, (rows, outputs)."""
    if hasattr(model, "decision_function"):
        return model.decision_function(rows).reshape(len(rows), -1)
    if hasattr(model, "predict_proba"):
        return model.predict_proba(rows)
    return model.predict(rows).reshape(len(rows), -1)
