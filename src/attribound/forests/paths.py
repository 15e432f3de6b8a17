"""A tree leaf by leaf: which values of each column lead to the leaf, and how much training data they lead there.

Within a tree, codes that all its splits send the same way form a *class*. The product of the classes of all its
columns is the tree's grid: everything the tree can tell apart.
"""

import itertools
from dataclasses import dataclass

import numpy as np

from attribound.forests.axes import Axis
from attribound.forests.ensemble import BoolArray, FloatArray, IntArray, Nodes


@dataclass(frozen=True, eq=False)
class Paths:
    """One tree, by leaf.

    Attributes:
        columns: the columns that the tree asks, rising.
        classes: by asked column, the class of every code.
        inside: by asked column, (leaves, classes): whether values of the class may lead to the leaf.
        share: (leaves, asked columns): the share of training data that passes the column's splits; 1 if none is asked.
        outputs: which outputs the leaves speak about.
        value: (leaves, outputs).
        forks: between neighbouring leaves, the depth at which their paths part.
    """

    columns: IntArray
    classes: tuple[IntArray, ...]
    inside: tuple[BoolArray, ...]
    share: FloatArray
    outputs: IntArray
    value: FloatArray
    forks: IntArray

    @property
    def shape(self) -> tuple[int, ...]:
        """The grid: how many classes every asked column has."""
        return tuple(inside.shape[1] for inside in self.inside)

    @property
    def cells(self) -> float:
        """The size of the grid."""
        return float(np.prod([float(count) for count in self.shape]))

    @property
    def expected(self) -> FloatArray:
        """The mean over the training data, by output."""
        mean: FloatArray = self.share.prod(axis=1) @ self.value
        return mean

    @property
    def longest(self) -> int:
        """The largest number of columns on a path."""
        asked = [~inside.all(axis=1) | (share != 1) for inside, share in zip(self.inside, self.share.T, strict=True)]
        return int(np.sum(asked, axis=0).max()) if asked else 0

    def part(self, start: int, stop: int) -> "Paths":
        """Some neighbouring leaves, with the columns that they ask and the classes that they tell apart."""
        share = self.share[start:stop]
        inside = [one[start:stop] for one in self.inside]
        slots = [slot for slot, one in enumerate(inside) if not one.all() or (share[:, slot] != 1).any()]
        merged = [_merge(inside[slot]) for slot in slots]
        return Paths(
            columns=self.columns[slots],
            classes=tuple(rank[self.classes[slot]] for slot, (rank, _) in zip(slots, merged, strict=True)),
            inside=tuple(inside[slot][:, chosen] for slot, (_, chosen) in zip(slots, merged, strict=True)),
            share=share[:, slots],
            outputs=self.outputs,
            value=self.value[start:stop],
            forks=self.forks[start : stop - 1],
        )

    def halves(self) -> tuple["Paths", "Paths"]:
        """The leaves below the two sides of the topmost split."""
        at = int(np.argmin(self.forks)) + 1
        return self.part(0, at), self.part(at, len(self.value))


def make_paths(tree: Nodes, axes: tuple[Axis, ...]) -> Paths:
    """Follow every path from the root to a leaf."""
    columns = np.unique(tree.column[tree.column >= 0])
    sides = {int(column): _sides(tree, int(column), axes[column]) for column in columns}
    leaves = _follow(tree, columns, {column: left for column, (_, left) in sides.items()})
    return Paths(
        columns=columns,
        classes=tuple(sides[int(column)][0] for column in columns),
        inside=tuple(np.array([leaf.inside[slot] for leaf in leaves]) for slot in range(len(columns))),
        share=np.array([leaf.share for leaf in leaves]).reshape(len(leaves), len(columns)),
        outputs=tree.outputs,
        value=tree.value[[leaf.node for leaf in leaves]],
        forks=_forks([leaf.route for leaf in leaves]),
    )


@dataclass(frozen=True, eq=False)
class _Step:
    """A node with what leads to it."""

    node: int
    inside: tuple[BoolArray, ...]
    share: tuple[float, ...]
    route: tuple[int, ...] = ()

    def child(self, node: int, slot: int, allowed: BoolArray, ratio: float) -> "_Step":
        inside = (*self.inside[:slot], self.inside[slot] & allowed, *self.inside[slot + 1 :])
        share = (*self.share[:slot], self.share[slot] * ratio, *self.share[slot + 1 :])
        return _Step(node, inside, share, (*self.route, node))


def _follow(tree: Nodes, columns: IntArray, left: dict[int, dict[int, BoolArray]]) -> list[_Step]:
    slots = {int(column): slot for slot, column in enumerate(columns)}
    everything = tuple(np.ones(len(next(iter(left[int(column)].values()))), bool) for column in columns)
    open_, leaves = [_Step(0, everything, (1.0,) * len(columns))], []
    while open_:
        step = open_.pop()
        node = step.node
        if tree.left[node] < 0:
            leaves.append(step)
            continue
        column = int(tree.column[node])
        for child, allowed in ((tree.right[node], ~left[column][node]), (tree.left[node], left[column][node])):
            ratio = float(tree.cover[child] / tree.cover[node])
            open_.append(step.child(int(child), slots[column], allowed, ratio))
    return leaves


def _sides(tree: Nodes, column: int, axis: Axis) -> tuple[IntArray, dict[int, BoolArray]]:
    """The class of every code, and by node which classes go left."""
    goes = {}
    for node in map(int, np.flatnonzero(tree.column == column)):
        default = bool(tree.default_left[node])
        if node in tree.lists:
            right = bool(tree.listed_right[node])
            goes[node] = axis.left_listed(tree.lists[node], right=right, default=default)
        else:
            goes[node] = axis.left(float(tree.threshold[node]), default)
    rank, chosen = _merge(np.array(list(goes.values())))
    return rank, {node: sides[chosen] for node, sides in goes.items()}


def _merge(table: BoolArray) -> tuple[IntArray, IntArray]:
    """The class of every column of a table, equal columns in one class, and the first column of every class.

    Classes are numbered by their first column, so that they rise with the values of a numeric column.
    """
    packed = np.packbits(table, axis=0)
    _, first, classes = np.unique(packed, axis=1, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[classes.reshape(-1)], np.sort(first)


def _forks(routes: list[tuple[int, ...]]) -> IntArray:
    """How many steps neighbouring routes share."""
    shared = []
    for one, other in itertools.pairwise(routes):
        shared.append(next(depth for depth, (a, b) in enumerate(zip(one, other, strict=False)) if a != b))
    return np.array(shared, np.intp)
