"""Reasons that are sums over several columns, such as the columns of one category (one-hot)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from attribound.errors import ArgumentError
from attribound.forests.ensemble import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Reasons:
    """What counts as one reason.

    Attributes:
        names: of the reasons, in the order of their first columns.
        members: the columns of each.
    """

    names: tuple[str, ...]
    members: tuple[IntArray, ...]

    @property
    def weights(self) -> FloatArray:
        """(reasons, columns), 1 where a column belongs to a reason."""
        total = sum(map(len, self.members))
        weights = np.zeros((len(self.members), total))
        for number, members in enumerate(self.members):
            weights[number, members] = 1.0
        return weights

    @property
    def grouped(self) -> dict[str, IntArray]:
        """Those of several columns."""
        return {name: members for name, members in zip(self.names, self.members, strict=True) if len(members) > 1}


def make_reasons(names: Sequence[str], groups: Mapping[str, Sequence[str]] | None) -> Reasons:
    """One reason for each group and for each column that is in none; raises ArgumentError for groups that overlap."""
    owner = {name: name for name in names}
    taken: set[str] = set()
    for group, members in (groups or {}).items():
        unknown = [name for name in members if name not in owner]
        if unknown or len(members) < 2:
            wrong = unknown[0] if unknown else list(members)
            raise ArgumentError(f"expected `groups` of columns of the forest, got {wrong!r} in {group!r}")
        twice = [name for name in members if name in taken]
        if twice or len(set(members)) < len(members) or (group in owner and group not in members):
            raise ArgumentError(
                f"expected `groups` that share no column and no name, got {twice[0] if twice else group!r}"
            )
        taken |= set(members)
        owner |= dict.fromkeys(members, group)
    order = list(dict.fromkeys(owner[name] for name in names))
    places = {group: [place for place, name in enumerate(names) if owner[name] == group] for group in order}
    return Reasons(tuple(order), tuple(np.array(places[group]) for group in order))


def hot_member(name: str, cells: FloatArray) -> int:
    """Which of a group's columns is 1; raises ArgumentError unless it is one, and the others 0."""
    if not (np.isin(cells, (0.0, 1.0)).all() and cells.sum() == 1):
        raise ArgumentError(f"expected one 1 and zeros in the columns of {name!r}, got {cells.tolist()}")
    return int(np.argmax(cells))
