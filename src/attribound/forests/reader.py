"""Reading forests: the one file that imports treelite. Nothing is executed or unpickled.

treelite turns the formats of XGBoost, LightGBM and scikit-learn into one set of arrays. What it leaves out (names,
rounds, how missing cells are treated) comes from `xgboost_file.py` and `lightgbm_file.py`.
"""

import copy
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from attribound.errors import ArgumentError, StoredDataError
from attribound.file_quota import reason
from attribound.forests.axes import MOST_CATEGORIES
from attribound.forests.described import Described, Splits
from attribound.forests.ensemble import Ensemble, FloatArray, IntArray, Missing, Nodes
from attribound.forests.lightgbm_file import describe_lightgbm
from attribound.forests.xgboost_file import describe_xgboost, without_words

SUFFIXES = (".json", ".ubj", ".txt")
_BY_LIST = 2
"""treelite's number for a split by a list of categories."""
_DEFAULT_LEFT = 2
"""LightGBM's bit for a default direction to the left."""


def read_file(content: bytes, suffix: str, rounds: int | None) -> Ensemble:
    """A forest from a file's content.

    Args:
        content: of the file.
        suffix: `.json` or `.ubj` (XGBoost), `.txt` (LightGBM).
        rounds: how many boosting rounds to use; None: all.
    """
    import treelite

    if suffix == ".txt":
        described = describe_lightgbm(_text(content))
    else:
        described = describe_xgboost(content, binary=suffix == ".ubj")
        if described.words:  # treelite refuses files that name their categories
            content, suffix = without_words(content, binary=suffix == ".ubj"), ".json"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about keys that treelite does not know
            model = _load(treelite, content, suffix)
    except treelite.TreeliteError as error:
        raise StoredDataError(f"treelite cannot read the model: {reason(error)}") from None
    return _ensemble(model, described, rounds)


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise StoredDataError("expected a LightGBM model, got a file that is not text") from None


def _load(treelite: Any, content: bytes, suffix: str) -> Any:
    if suffix == ".json":
        return treelite.frontend.from_xgboost_json(content, allow_unknown_field=True)
    if suffix == ".ubj":
        return treelite.frontend.from_xgboost_ubjson(content, allow_unknown_field=True)
    with tempfile.TemporaryDirectory() as folder:  # treelite reads LightGBM from files only
        path = Path(folder) / "model.txt"
        path.write_bytes(content)
        return treelite.frontend.load_lightgbm_model(path)


def _ensemble(model: Any, described: Described, rounds: int | None) -> Ensemble:
    if rounds is not None and not 1 <= rounds <= len(described.ends):
        raise ArgumentError(f"expected `rounds` from 1 to {len(described.ends)}, got {rounds}")
    rounds = rounds or len(described.ends)
    count = described.ends[rounds - 1] if rounds else 0
    if model.num_feature != len(described.names) or model.num_tree < count:
        raise StoredDataError("treelite and the file disagree about columns or trees")
    cover = "sum_hess" if described.library == "xgboost" else "data_count"
    header = model.get_header_accessor()
    if any(header.get_field("leaf_vector_shape") != 1):
        raise StoredDataError("trees with a vector in every leaf are refused: the library does not explain them")
    ids = _field(header, "target_id" if header.get_field("num_target")[0] > 1 else "class_id", np.intp)
    trees = tuple(
        _nodes(model.get_tree_accessor(number), cover=cover, outputs=ids[number : number + 1]).reachable(number)
        for number in range(count)
    )
    if described.splits:
        trees = tuple(_with_defaults(tree, splits) for tree, splits in zip(trees, described.splits, strict=False))
    return Ensemble(
        library=described.library,
        trees=trees,
        base=_base(_field(header, "base_scores", np.float64), described.base),
        names=described.names,
        missing=described.missing,
        categorical=_categorical(trees, described.categorical),
        decides=described.decides,
        rounds=rounds,
        best_rounds=described.best_rounds,
        words=described.words,
    )


def _base(scores: FloatArray, described: FloatArray | None) -> FloatArray:
    """The base score of each output: what the file's own description says, where it says it."""
    if described is None:
        return scores
    if len(described) not in (1, len(scores)):
        raise StoredDataError("treelite and the file disagree about base scores")
    return np.array(np.broadcast_to(described, scores.shape))


def _with_defaults(tree: Nodes, splits: Splits) -> Nodes:
    """LightGBM's default directions from its own file: treelite replaces those of columns without NaN."""
    left, right, bits = splits
    default, open_ = tree.default_left.copy(), [(0, 0)] if bits else []
    try:
        while open_:
            node, split = open_.pop()
            default[node] = bool(bits[split] & _DEFAULT_LEFT) and node not in tree.lists
            pairs = ((tree.left[node], left[split]), (tree.right[node], right[split]))
            open_.extend((int(child), below) for child, below in pairs if below >= 0)
            if any((tree.left[child] >= 0) != (below >= 0) for child, below in pairs):
                raise StoredDataError("treelite and the file disagree about the trees")
    except IndexError:
        raise StoredDataError("treelite and the file disagree about the trees") from None
    return replace(tree, default_left=default)


def _categorical(trees: tuple[Nodes, ...], declared: tuple[bool, ...]) -> tuple[bool, ...]:
    """Columns with categories, declared or split so; raises where one is split in both ways."""
    asked = [(tree.column[node], node in tree.lists) for tree in trees for node in np.flatnonzero(tree.column >= 0)]
    listed = {int(column) for column, by_list in asked if by_list}
    listed |= {column for column, known in enumerate(declared) if known}
    both = listed & {int(column) for column, by_list in asked if not by_list}
    if both:
        raise StoredDataError(f"column {min(both)} is split by thresholds and by categories")
    return tuple(column in listed for column in range(len(declared)))


def _nodes(tree: Any, *, cover: str, outputs: Any, scale: float = 1.0) -> Nodes:
    """One tree; a leaf's value is multiplied by `scale`."""
    left = _field(tree, "cleft", np.intp)
    begin, end = _field(tree, "category_list_begin", np.intp), _field(tree, "category_list_end", np.intp)
    named, kinds = _field(tree, "category_list", np.intp), _field(tree, "node_type", np.intp)
    lists = {int(node): named[begin[node] : end[node]] for node in np.flatnonzero(kinds == _BY_LIST)}
    return Nodes(
        left=left,
        right=_field(tree, "cright", np.intp),
        column=np.where(left >= 0, _field(tree, "split_index", np.intp), -1),
        threshold=_field(tree, "threshold", np.float64),
        default_left=_field(tree, "default_left", np.bool_),
        lists=lists,
        listed_right=_field(tree, "category_list_right_child", np.bool_),
        cover=_covers(tree, cover, len(left)),
        outputs=np.array(outputs, dtype=np.intp),
        value=scale * _values(tree, left, len(outputs)),
    )


def _field(accessor: Any, name: str, dtype: Any) -> Any:
    """A copy: treelite hands out views of memory that it frees with the model."""
    return np.array(accessor.get_field(name), dtype=dtype, copy=True)


def _covers(tree: Any, field: str, count: int) -> FloatArray:
    if count == 1:  # a single leaf needs none
        return np.ones(1)
    covers: FloatArray = _field(tree, field, np.float64)
    if len(covers) != count or not _field(tree, f"{field}_present", np.bool_).all():
        raise StoredDataError("the model does not say how much training data reached each node")
    return covers


def _values(tree: Any, left: IntArray, outputs: int) -> FloatArray:
    vector: FloatArray = _field(tree, "leaf_vector", np.float64)
    if not vector.size:
        single: FloatArray = _field(tree, "leaf_value", np.float64)[:, None]
        return single
    values, leaves = np.zeros((len(left), outputs)), np.flatnonzero(left < 0)
    begin = _field(tree, "leaf_vector_begin", np.intp)[leaves]
    values[leaves] = vector[begin[:, None] + np.arange(outputs)]
    return values


_FORESTS = {"RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor"}
_BOOSTED = {"GradientBoostingClassifier", "GradientBoostingRegressor"}
_HISTOGRAMS = {"HistGradientBoostingClassifier", "HistGradientBoostingRegressor"}


def read_sklearn(model: Any) -> Ensemble:
    """A forest from a fitted scikit-learn model."""
    name = type(model).__name__
    if name not in _FORESTS | _BOOSTED | _HISTOGRAMS or not type(model).__module__.startswith("sklearn."):
        expected = f"a file ({', '.join(SUFFIXES)}) or a scikit-learn forest"
        raise ArgumentError(f"expected {expected}, got {type(model).__module__}.{name}")
    loaded, histogram = _load_sklearn(model, name), name in _HISTOGRAMS
    header = loaded.get_header_accessor()
    outputs, count = int(header.get_field("num_class")[0]), loaded.num_tree
    averaged = bool(header.get_field("average_tree_output")[0])
    ids = _field(header, "class_id", np.intp)
    trees = tuple(
        _nodes(
            loaded.get_tree_accessor(number),
            cover="data_count" if histogram else "sum_hess",
            outputs=range(outputs) if ids[number] < 0 else ids[number : number + 1],
            scale=1 / count if averaged else 1.0,
        ).reachable(number)
        for number in range(count)
    )
    columns = loaded.num_feature
    names = getattr(model, "feature_names_in_", None)
    declared = getattr(model, "is_categorical_", None)
    declared = (False,) * columns if declared is None else tuple(map(bool, declared))
    return Ensemble(
        library="histogram" if histogram else "scikit-learn",
        trees=trees,
        base=_field(header, "base_scores", np.float64),
        names=tuple(map(str, names)) if names is not None else tuple(f"column {i}" for i in range(columns)),
        missing=(Missing.REFUSED if name in _BOOSTED else Missing.OWN,) * columns,
        categorical=_categorical(trees, declared),
        decides="values" if name.endswith("Regressor") else ("sides" if outputs == 1 else "classes"),
        rounds=count,
        known=_known(model, declared) if histogram else (),
    )


def _known(model: Any, declared: tuple[bool, ...]) -> tuple[IntArray, ...]:
    """The categories of the training data: scikit-learn tells them from unknown ones, which count as missing."""
    found = [np.empty(0, np.intp)] * len(declared)
    if any(declared):
        lists = model._preprocessor.transformers_[0][1].categories_
        for column, categories in zip(np.flatnonzero(declared), lists, strict=True):
            found[column] = _whole(categories[~np.isnan(categories)], int(column))
    return tuple(found)


def _whole(categories: FloatArray, column: int) -> IntArray:
    """Categories as numbers; raises ArgumentError for those that treelite would take for others."""
    wrong = (categories != np.floor(categories)) | (categories < 0) | (categories >= MOST_CATEGORIES)
    if wrong.any():
        text = "categories that are whole numbers >= 0"
        raise ArgumentError(f"expected {text} in column {column}, got {categories[wrong][0]:g}")
    return categories.astype(np.intp)


def _load_sklearn(model: Any, name: str) -> Any:
    import treelite

    if not hasattr(model, "n_features_in_"):
        raise ArgumentError(f"expected a fitted model, got a {name} that was not fitted")
    if getattr(model, "n_outputs_", 1) != 1:
        raise ArgumentError(f"expected one target, got a {name} with {model.n_outputs_}")
    if name not in _HISTOGRAMS and model.n_estimators != len(model.estimators_):
        model = copy.copy(model)  # stopped early: treelite would read trees that are not there
        model.n_estimators = len(model.estimators_)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a missing category is cast to a number, and not used
            return treelite.sklearn.import_model(model)
    except (treelite.TreeliteError, NotImplementedError, AssertionError, ValueError) as error:
        raise ArgumentError(f"treelite cannot read the {name}: {reason(error)}") from None
