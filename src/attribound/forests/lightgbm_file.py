"""LightGBM's text files: what they say beside the trees, and whether their indices can be followed."""

import json

import numpy as np

from attribound.errors import StoredDataError
from attribound.forests.described import Described, Splits, decides, named
from attribound.forests.ensemble import BoolArray, Missing, tree_order
from attribound.sanitise import printable

_PANDAS = "pandas_categorical:"
_MISSING = (Missing.AS_ZERO, Missing.WITH_ZERO, Missing.OWN)
"""LightGBM's types of missing cells, by number."""


def describe_lightgbm(text: str) -> Described:
    """Read a LightGBM text file."""
    head, *trees = text.split("\nTree=")
    fields = _fields(head)
    if not text.startswith("tree\n") or "max_feature_idx" not in fields:
        raise StoredDataError("expected a LightGBM model, got a file without its fields")
    if any(line.strip() == "average_output" for line in head.splitlines()):
        raise StoredDataError("LightGBM's random forests are refused: contributions do not add up to scores")
    try:
        columns, each = int(fields["max_feature_idx"]) + 1, int(fields["num_tree_per_iteration"])
        names = tuple(printable(name) for name in fields["feature_names"].split(" "))
        blocks = [_fields(tree.split("\nend of trees")[0]) for tree in trees]
        missing, categorical = _columns(blocks, columns)
        objective = fields.get("objective", "regression").split(" ")[0]
    except (KeyError, ValueError, IndexError) as error:
        if isinstance(error, StoredDataError):
            raise
        raise StoredDataError("expected a LightGBM model, got a file with broken fields") from None
    return Described(
        library="lightgbm",
        names=named(names, columns),
        missing=missing,
        categorical=categorical,
        decides=decides(objective),
        ends=tuple(range(each, len(trees) + 1, each)),
        best_rounds=None,
        splits=tuple(_splits(block) for block in blocks),
        words=_words(text, fields.get("feature_infos", "").split(" "), named(names, columns)),
    )


def _words(text: str, infos: list[str], names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Categories by column, as pandas named them: the file lists them for its columns of categories, in order.

    pandas names those of ordered columns too, which LightGBM takes for numbers: where the two lists cannot belong
    together, nothing is named.
    """
    line = next((line for line in reversed(text.splitlines()) if line.startswith(_PANDAS)), f"{_PANDAS}null")
    pairs = zip(names, infos, strict=False)
    listed = {name: info.split(":") for name, info in pairs if not info.startswith("[") and info != "none"}
    try:
        lists = json.loads(line.removeprefix(_PANDAS)) or []
        words = [tuple(printable(str(word)) for word in one) for one in lists]
        largest = [max(map(int, seen)) for seen in listed.values()] if words else []
    except (ValueError, TypeError, RecursionError):
        raise StoredDataError("expected a LightGBM model, got a file with broken categories") from None
    fits = len(largest) == len(words) and all(
        len(set(one)) == len(one) > last for one, last in zip(words, largest, strict=True)
    )
    return dict(zip(listed, words, strict=False)) if fits else {}


def _splits(block: dict[str, str]) -> Splits:
    left, right, bits = (block.get(name, "") for name in ("left_child", "right_child", "decision_type"))
    return _numbers(left), _numbers(right), _numbers(bits)


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split()]


def _columns(trees: list[dict[str, str]], columns: int) -> tuple[tuple[Missing, ...], tuple[bool, ...]]:
    """What every column does with missing cells, and whether it holds categories."""
    kinds: dict[int, set[int]] = {}
    categorical = [False] * columns
    for number, tree in enumerate(trees):
        if tree.get("is_linear", "0") != "0":
            raise StoredDataError(f"tree {number} is linear in its leaves: it has no SHAP values by cells")
        _check(number, tree, columns)
        for column, decision in zip(_numbers(tree.get("split_feature", "")), _splits(tree)[2], strict=True):
            if decision & 1:
                categorical[column] = True
            else:
                kinds.setdefault(column, set()).add(decision >> 2 & 3)
    mixed = [column for column, types in kinds.items() if len(types) > 1]
    if mixed:
        raise StoredDataError(f"column {mixed[0]} treats missing cells differently from split to split")
    found = {column: _MISSING[min(types)] for column, types in kinds.items()}
    return tuple(found.get(column, Missing.OWN) for column in range(columns)), tuple(categorical)


def _fields(block: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in block.splitlines() if "=" in line)


def _check(number: int, tree: dict[str, str], columns: int) -> None:
    """Raise StoredDataError unless every index stays inside its array: treelite follows them unseen."""
    leaves = int(tree["num_leaves"])
    left, right, bits = (np.array(one, np.intp) for one in _splits(tree))
    asked = np.array(_numbers(tree.get("split_feature", "")), np.intp)
    lengths = [len(tree.get(name, "").split()) for name in ("threshold", "internal_count")] if leaves > 1 else []
    lengths += [len(left), len(right), len(bits), len(asked)]
    values = [len(tree.get(name, "").split()) for name in ("leaf_value", "leaf_count")[: 1 + (leaves > 1)]]
    if any(length != leaves - 1 for length in lengths) or any(length != leaves for length in values):
        raise StoredDataError(f"tree {number} has arrays of different lengths")
    # Leaves are numbered -1, -2, ...: put them behind the splits.
    below = [np.append(np.where(one < 0, leaves - 2 - one, one), [-1] * leaves) for one in (left, right)]
    if leaves > 1 and len(tree_order(number, *below)) != 2 * leaves - 1:
        raise StoredDataError(f"tree {number} is not a tree: a node has no parent")
    if asked.size and not (asked.min() >= 0 and asked.max() < columns):
        raise StoredDataError(f"tree {number} asks for a column that the model does not have")
    _check_lists(number, tree, bits & 1 == 1)


def _check_lists(number: int, tree: dict[str, str], listed: BoolArray) -> None:
    """The same for categories."""
    count = int(tree.get("num_cat", "0"))
    ends, words = _numbers(tree.get("cat_boundaries", "0")), _numbers(tree.get("cat_threshold", ""))
    places = [float(one) for one, is_list in zip(tree.get("threshold", "").split(), listed, strict=False) if is_list]
    rising = ends[0] == 0 and ends == sorted(ends) and ends[-1] == len(words)
    inside = all(place.is_integer() and 0 <= place < count for place in places)
    if len(ends) != count + 1 or not rising or not inside or not all(0 <= word < 2**32 for word in words):
        raise StoredDataError(f"tree {number} has categories beyond its list")
