"""XGBoost's files, JSON and UBJSON: what they say beside the trees, and whether their indices can be followed."""

import json
from itertools import pairwise
from typing import Any

import numpy as np

from attribound.errors import StoredDataError
from attribound.forests import ubjson
from attribound.forests.described import Described, decides, named
from attribound.forests.ensemble import FloatArray, Missing, tree_order
from attribound.sanitise import printable

_LOGISTIC = ("binary:logistic", "reg:logistic")
_RAREST = 1e-6
"""The base score that XGBoost takes for all smaller ones, at least since version 3."""


def describe_xgboost(content: bytes, *, binary: bool) -> Described:
    """Read an XGBoost file, JSON or UBJSON."""
    try:
        learner = _document(content, binary=binary)["learner"]
        booster = learner["gradient_booster"]
        return _from_learner(learner, booster, str(booster["name"]))
    except (KeyError, TypeError, ValueError, RecursionError, AttributeError) as error:
        if isinstance(error, StoredDataError):
            raise
        raise StoredDataError("expected an XGBoost model, got a file without its fields") from None


def without_words(content: bytes, *, binary: bool) -> bytes:
    """The file as JSON, its categories without their words."""
    document = _document(content, binary=binary)
    booster = document["learner"]["gradient_booster"]
    model = (booster["gbtree"] if booster["name"] == "dart" else booster)["model"]
    model["cats"] = {"enc": [], "feature_segments": [], "sorted_idx": []}
    return json.dumps(document, default=_listed).encode()


def _document(content: bytes, *, binary: bool) -> Any:
    return ubjson.decode(content) if binary else json.loads(content, object_pairs_hook=_once)


def _listed(array: Any) -> Any:
    if not isinstance(array, np.ndarray):
        raise StoredDataError(f"expected an XGBoost model, got {type(array).__name__} in it")
    return array.tolist()


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Keys that come twice could mean one thing here and another to treelite."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise StoredDataError("the file states a key twice")
    return found


def _from_learner(learner: dict[str, Any], booster: dict[str, Any], kind: str) -> Described:
    if kind not in ("gbtree", "dart"):
        raise StoredDataError(f"expected a tree booster, got {printable(kind)}: it has no trees to look at")
    model = (booster["gbtree"] if kind == "dart" else booster)["model"]
    columns = int(learner["learner_model_param"]["num_feature"])
    names = tuple(printable(str(name)) for name in learner.get("feature_names", ()))
    types = [str(kind) for kind in learner.get("feature_types", ())] or ["q"] * columns
    if len(types) != columns:
        raise StoredDataError(f"expected {columns} types of columns, got {len(types)}")
    trees = len(model["tree_info"])
    _check_trees(model, columns, learner["learner_model_param"])
    best = learner.get("attributes", {}).get("best_iteration")
    return Described(
        library="xgboost",
        names=named(names, columns),
        missing=(Missing.OWN,) * columns,
        categorical=tuple(kind == "c" for kind in types),
        decides=decides(str(learner["objective"]["name"])),
        ends=_ends(model, trees),
        best_rounds=None if best is None else int(best) + 1,
        words=_words(model.get("cats", {}), named(names, columns)),
        base=_logits(learner) if str(learner["objective"]["name"]) in _LOGISTIC else None,
    )


def _logits(learner: dict[str, Any]) -> FloatArray:
    """Base scores that are stored as probabilities, as XGBoost computes them, in float32."""
    shares = np.atleast_1d(np.asarray(json.loads(str(learner["learner_model_param"]["base_score"])), np.float32))
    if not ((shares >= _RAREST) & (shares <= 1 - _RAREST)).all():
        raise StoredDataError(f"expected a base score from {_RAREST:g} to 1 - {_RAREST:g}: XGBoost may cut off others")
    return np.asarray(-np.log(1 / shares - 1), np.float64)


def _words(stored: dict[str, Any], names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Categories by column: texts are bytes with the places where each begins, numbers are listed."""
    columns = list(stored.get("enc", ()))
    if columns and len(columns) != len(names):
        raise StoredDataError(f"expected categories of {len(names)} columns, got {len(columns)}")
    return {name: words for name, one in zip(names, columns, strict=False) if (words := _column_words(one))}


def _column_words(stored: dict[str, Any]) -> tuple[str, ...]:
    values = [int(value) for value in stored["values"]]
    if "offsets" in stored:
        ends, text = [int(end) for end in stored["offsets"]], bytes(value & 0xFF for value in values)
        words = [text[begin:end].decode() for begin, end in pairwise(ends)]
    else:
        words = [str(value) for value in values]
    shown = tuple(map(printable, words))
    if len(set(shown)) < len(shown):
        raise StoredDataError("expected an XGBoost model, got one that names a category twice")
    return shown


_BY_NODE = (
    "parents",
    "right_children",
    "split_indices",
    "split_conditions",
    "default_left",
    "sum_hessian",
    "base_weights",
)


def _check_trees(model: dict[str, Any], columns: int, sizes: dict[str, Any]) -> None:
    """Raise StoredDataError unless every index stays inside its array: treelite follows them unseen."""
    outputs = max(1, int(sizes.get("num_class", 0)), int(sizes.get("num_target", 1)))
    if len(model["trees"]) != len(model["tree_info"]) or not all(0 <= int(one) < outputs for one in model["tree_info"]):
        raise StoredDataError("expected an XGBoost model with an output for every tree")
    for number, tree in enumerate(model["trees"]):
        left, right = (np.asarray(tree[name], np.intp) for name in ("left_children", "right_children"))
        count = int(tree["tree_param"]["num_nodes"])
        if int(tree["tree_param"].get("size_leaf_vector", 1)) > 1:
            raise StoredDataError("trees with a vector in every leaf are refused: the library does not explain them")
        if not 1 <= count == len(left) or any(len(tree[name]) != count for name in _BY_NODE):
            raise StoredDataError(f"tree {number} has arrays of different lengths")
        if not np.isin(np.asarray(tree["default_left"], np.intp), (0, 1)).all():
            raise StoredDataError(f"tree {number} has a default direction that is none")
        tree_order(number, left, right)
        if left.max() >= count or right.max() >= count or ((left < 0) != (right < 0)).any():
            raise StoredDataError(f"tree {number} is not a tree: a child is not below its parent")
        asked = np.asarray(tree["split_indices"], np.intp)[left >= 0]
        if asked.size and not (asked.min() >= 0 and asked.max() < columns):
            raise StoredDataError(f"tree {number} asks for a column that the model does not have")
        _check_lists(number, tree, count)


def _check_lists(number: int, tree: dict[str, Any], count: int) -> None:
    """The same for categories."""
    nodes, begins, sizes = (
        np.asarray(tree.get(f"categories_{name}", ()), np.intp) for name in ("nodes", "segments", "sizes")
    )
    listed, kinds = np.asarray(tree.get("categories", ()), np.intp), np.asarray(tree.get("split_type", ()), np.intp)
    right = len(nodes) == len(begins) == len(sizes) and len(kinds) in (0, count)
    if not right or not np.array_equal(nodes, np.flatnonzero(kinds == 1)):
        raise StoredDataError(f"tree {number} has categories for other splits than it states")
    if (begins < 0).any() or (sizes < 0).any() or (begins + sizes > len(listed)).any() or (listed < 0).any():
        raise StoredDataError(f"tree {number} has categories beyond its list")


def _ends(model: dict[str, Any], trees: int) -> tuple[int, ...]:
    """The number of trees after each round; old files do not say, but number their classes and parallel trees."""
    if "iteration_indptr" in model:
        ends = tuple(int(end) for end in model["iteration_indptr"])[1:]
    else:
        each = max(int(one) for one in model["tree_info"]) + 1 if trees else 1
        each *= int(model["gbtree_model_param"].get("num_parallel_tree", 1))
        ends = tuple(range(each, trees + 1, each))
    if trees and (not ends or ends[-1] != trees or list(ends) != sorted(ends)):
        raise StoredDataError("expected an XGBoost model whose rounds add up to its trees")
    return ends
