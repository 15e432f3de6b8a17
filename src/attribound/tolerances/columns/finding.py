"""What an attack on a column tolerance found."""

from typing import Any

from msgspec import Struct

from attribound.tolerances.columns.record import Cell


class ColumnsFinding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One statement about one row and what became of it.

    Attributes:
        item: number of the row.
        words: the statement.
        reach: how far it was claimed to hold; None: under any change.
        points: how many changes inside the reach were tried.
        breaks: a row inside the reach at which it does not hold; None if none was found.
        library: which library explained the nearest change, with its version; None if it is not installed.
        confirmed: whether the nearest change breaks the statement there, up to ties; None if nobody was asked.
        seed: of the attack.
    """

    item: int
    words: str
    reach: float | None
    points: int
    breaks: tuple[Cell, ...] | None = None
    library: str | None = None
    confirmed: bool | None = None
    seed: int = 0

    @property
    def violated(self) -> bool:
        """Whether the claim is false: it breaks inside, or its nearest change breaks nothing."""
        return self.breaks is not None or self.confirmed is False

    def row(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {name: getattr(self, name) for name in self.__struct_fields__} | {"violated": self.violated}
