"""What the libraries themselves say, where they are installed: the last check of a claimed change."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from attribound.forests.ensemble import FloatArray

Explain = Callable[[FloatArray], FloatArray]
"""From rows (rows, columns) to SHAP values (rows, outputs, columns)."""


def library_of(path: Path, *, library: str, outputs: int) -> tuple[str, Explain] | None:
    """The library that wrote a forest's file, with its version, and its own SHAP values; None if it is not installed.

    Args:
        path: the file; it was read and checked before.
        library: `xgboost` or `lightgbm`.
        outputs: how many scores a row has.
    """
    makers: dict[str, Callable[[Path, int], tuple[str, Explain]]] = {"xgboost": _xgboost, "lightgbm": _lightgbm}
    try:
        return makers[library](path, outputs)
    except (ImportError, KeyError):
        return None


def _xgboost(path: Path, outputs: int) -> tuple[str, Explain]:
    import xgboost

    booster: Any = xgboost.Booster(model_file=path)
    booster.set_param({"nthread": 1})

    def explain(rows: FloatArray) -> FloatArray:
        names, types = booster.feature_names, booster.feature_types
        matrix = xgboost.DMatrix(rows, feature_names=names, feature_types=types, enable_categorical=True, nthread=1)
        return _shaped(booster.predict(matrix, pred_contribs=True), rows, outputs)

    return f"xgboost {xgboost.__version__}", explain


def _lightgbm(path: Path, outputs: int) -> tuple[str, Explain]:
    import lightgbm

    booster: Any = lightgbm.Booster(model_file=path)

    def explain(rows: FloatArray) -> FloatArray:
        return _shaped(booster.predict(rows, pred_contrib=True, num_threads=1), rows, outputs)

    return f"lightgbm {lightgbm.__version__}", explain


def _shaped(values: Any, rows: FloatArray, outputs: int) -> FloatArray:
    """Without the mean score, which comes last."""
    table = np.asarray(values, np.float64).reshape(len(rows), outputs, rows.shape[1] + 1)
    return table[:, :, :-1]
