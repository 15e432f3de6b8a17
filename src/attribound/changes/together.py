"""Several changes at once, one after the other: every combination is a point t, counted in units of each change."""

from collections.abc import Sequence
from typing import final

import torch
from torch import Tensor

from attribound.changes.base import Change
from attribound.changes.registry import check_once, parse_change
from attribound.errors import ArgumentError


@final
class Together(Change):
    """Changes made one after the other, in the order given; t = (1, 0, ..., 0) is the first by the amount it names.

    Factors and zoom are counted by their logarithms, so that 2 units of contrast:1.2 are a factor of 1.44.
    """

    name = "together"
    unit = "units"
    made = "one change after the other, in the order given"
    example = "rotation:10, zoom:10%"

    def __init__(self, changes: Sequence[Change | str]) -> None:
        """Combine changes or specs; the amount of each, e.g. the 10 of rotation:10, is its unit."""
        made = [parse_change(one) if isinstance(one, str) else one for one in changes]
        if strange := next((one for one in made if not isinstance(one, Change)), None):
            raise ArgumentError(f"expected a change such as Rotation(10) or 'rotation:10', got {strange!r}")
        if len(made) < 2:
            raise ArgumentError(
                f"expected at least two changes together, got {len(made)}: tolerance scans a single one"
            )
        check_once(made)
        self.specs = tuple(one.spec for one in made)
        self.parts = tuple(one.sliding() for one in made)
        self.moves, self.dimensions = any(one.moves for one in self.parts), len(self.parts)

    @property
    def spec(self) -> str:
        """As people type them, one after the other."""
        return " ".join(self.specs)

    @property
    def brings_back(self) -> bool:
        """Whether one of them does."""
        return any(one.brings_back for one in self.parts)

    @property
    def versions(self) -> dict[str, str]:
        """Those of all changes."""
        return {name: version for one in self.parts for name, version in one.versions.items()}

    def check(self, x: Tensor) -> None:
        """Each must fit the input."""
        for one in self.parts:
            one.check(x)

    def apply(self, x: Tensor, t: Tensor) -> Tensor:
        """Make the changes, row by row: each row is changed on its own."""
        return torch.cat([self._one(x, row) for row in self._amounts(t)])

    def back(self, maps: Tensor, t: Tensor, shape: Sequence[int]) -> Tensor:
        """Undo the movements, the last one first."""
        amounts = self._amounts(t)
        for number in reversed(range(len(self.parts))):
            maps = self.parts[number].back(maps, amounts[:, number], shape)
        return maps

    def _one(self, x: Tensor, amounts: Tensor) -> Tensor:
        for one, amount in zip(self.parts, amounts, strict=True):
            x = one.apply(x.clone(), amount[None])[0]
        return x[None]

    def _amounts(self, t: Tensor) -> Tensor:
        """(B, k) parameters as the changes themselves take them; where only t >= 0 has a meaning, |t|."""
        columns = [
            (t[:, number].abs() if one.mirrored else t[:, number]) * one.high for number, one in enumerate(self.parts)
        ]
        return torch.stack(columns, dim=1).double()
