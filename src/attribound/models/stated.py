"""What a model says about its own inputs: their range, the names of their columns."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attribound.file_quota import read_bytes

_MOST = 8
_COLUMNS = ("feature_names", "feature_names_in_", "features")


def layers_of(model: Any) -> Iterator[Any]:
    """A model and what it wraps, from the outside in."""
    for _ in range(_MOST):
        yield model
        inner = next((name for name in ("model", "program") if getattr(model, name, None) is not None), None)
        if inner is None:
            return
        model = getattr(model, inner)


def fixed_batch(model: Any) -> str:
    """A line about a model that runs a few rows at a time, "" if it takes any batch."""
    return next((line for layer in layers_of(model) if (line := getattr(layer, "note", ""))), "")


def stated_range(model: Any) -> tuple[float, float] | None:
    """The range of inputs that a model was made for, its `input_range`; None if it does not say."""
    for layer in layers_of(model):
        ends = getattr(layer, "input_range", None)
        if isinstance(ends, tuple) and len(ends) == 2:
            return float(ends[0]), float(ends[1])
    return None


def stated_words(model: Any) -> Mapping[str, tuple[str, ...]]:
    """By column, the words of its categories in the order of their numbers, where a forest's file names them."""
    return next((words for layer in layers_of(model) if (words := getattr(layer, "category_words", {}))), {})


def stated_columns(model: Any, spec: str = "") -> tuple[str, ...]:
    """Names of the columns that a model was trained on, in order: its own, or those of the card beside its weights."""
    for layer in layers_of(model):
        for name in _COLUMNS:
            if names := _names(getattr(layer, name, None)):
                return names
    card = Path(spec).with_suffix(".json") if spec.endswith(".safetensors") else None
    if card is None or not card.is_file():
        return ()
    try:
        stored = json.loads(read_bytes(card))
    except (OSError, ValueError, RecursionError):  # a file that is no card says nothing
        return ()
    return _names(stored.get("features")) if isinstance(stored, dict) else ()


def _names(value: Any) -> tuple[str, ...]:
    values = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(values, Sequence) or isinstance(values, str) or not all(isinstance(one, str) for one in values):
        return ()
    return tuple(values)
