"""A tree ensemble as plain arrays: what every reader makes and everything else reads."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
import numpy.typing as npt

from attribound.errors import StoredDataError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]


_COVERS = 1e-2
"""How far covers may be from the sum of their children's; libraries add them up in float32 at least."""


class Missing(Enum):
    """What a column does with a missing cell (NaN)."""

    OWN = "goes its default way"
    AS_ZERO = "is read as 0"
    WITH_ZERO = "and 0 both go the default way"
    REFUSED = "is refused"


def tree_order(number: int, left: IntArray, right: IntArray) -> IntArray:
    """The nodes that hang from node 0, level by level; raises StoredDataError if these are no tree.

    Args:
        number: of the tree, for the message.
        left: the left child of every node, negative at a leaf.
        right: the right child.
    """
    order, level = [np.array([0])], np.array([0])
    while (inner := level[left[level] >= 0]).size:
        level = np.concatenate([left[inner], right[inner]])
        order.append(level)
        if level.min() < 1 or level.max() >= len(left) or sum(map(len, order)) > len(left):
            raise StoredDataError(f"tree {number} is not a tree: a child is not below its parent")
    kept = np.concatenate(order)
    if len(np.unique(kept)) != len(kept):
        raise StoredDataError(f"tree {number} is not a tree: a node has two parents")
    return kept


@dataclass(frozen=True, eq=False)
class Nodes:
    """One tree, by node; the root is node 0.

    Attributes:
        left: the left child, -1 at a leaf.
        right: the right child, -1 at a leaf.
        column: the column asked, -1 at a leaf.
        threshold: of a numeric split.
        default_left: where missing cells go.
        lists: the categories that a categorical split names, by node.
        listed_right: whether these go right.
        cover: how much training data reached the node.
        outputs: which outputs the leaves speak about.
        value: (nodes, outputs), at leaves.
    """

    left: IntArray
    right: IntArray
    column: IntArray
    threshold: FloatArray
    default_left: BoolArray
    lists: dict[int, IntArray]
    listed_right: BoolArray
    cover: FloatArray
    outputs: IntArray
    value: FloatArray

    @property
    def depth(self) -> int:
        """The number of splits on the longest path."""
        steps, level = 0, np.array([0])
        while (inner := level[self.left[level] >= 0]).size:
            steps, level = steps + 1, np.concatenate([self.left[inner], self.right[inner]])
        return steps

    def check(self, number: int, columns: int) -> None:
        """Raise StoredDataError unless this is a tree whose SHAP values exist."""
        inner = np.flatnonzero(self.left >= 0)
        if inner.size and not (self.column[inner].min() >= 0 and self.column[inner].max() < columns):
            raise StoredDataError(f"tree {number} asks for a column that the model does not have")
        numeric = [node for node in inner if node not in self.lists]
        if np.isnan(self.threshold[numeric]).any() or not np.isfinite(self.value).all():
            raise StoredDataError(f"tree {number} has a threshold or a leaf that is not a number")
        if not (np.isfinite(self.cover).all() and (self.cover > 0).all()):
            raise StoredDataError(
                f"tree {number} has a node that no training data reached (cover 0): its SHAP values do not exist"
            )
        below = self.cover[self.left[inner]] + self.cover[self.right[inner]]
        if not np.allclose(below, self.cover[inner], rtol=_COVERS, atol=0):
            raise StoredDataError(f"tree {number} has a node whose training data are not those of its children")

    def reachable(self, number: int) -> "Nodes":
        """The nodes that hang from the root, renumbered: XGBoost leaves pruned ones in its files."""
        kept = tree_order(number, self.left, self.right)
        place = np.full(len(self.left), -1)
        place[kept] = np.arange(len(kept))
        leaf = self.left[kept] < 0
        return Nodes(
            left=np.where(leaf, -1, place[self.left[kept]]),
            right=np.where(leaf, -1, place[self.right[kept]]),
            column=self.column[kept],
            threshold=self.threshold[kept],
            default_left=self.default_left[kept],
            lists={int(place[node]): listed for node, listed in self.lists.items() if place[node] >= 0},
            listed_right=self.listed_right[kept],
            cover=self.cover[kept],
            outputs=self.outputs,
            value=self.value[kept],
        )


@dataclass(frozen=True, eq=False)
class Ensemble:
    """All trees of a model and how it reads a row.

    Attributes:
        library: which library compares: `xgboost`, `lightgbm`, `scikit-learn` (float32 rows) or `histogram`.
        trees: in order; scores are their sum plus the base score.
        base: the base score of each output.
        names: of the columns.
        missing: what each column does with missing cells.
        categorical: which columns hold categories.
        decides: `sides` (one score, two classes), `classes` (one score each), or `values` (regression).
        best_rounds: the rounds that early stopping would keep, if the file says so.
        rounds: the boosting rounds in use.
        words: by column, its categories in the order of their numbers, where the model names them.
        known: by column, categories that the model tells from unknown ones though no split may name them.
    """

    library: str
    trees: tuple[Nodes, ...]
    base: FloatArray
    names: tuple[str, ...]
    missing: tuple[Missing, ...]
    categorical: tuple[bool, ...]
    decides: str
    rounds: int
    best_rounds: int | None = None
    known: tuple[IntArray, ...] = ()
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
