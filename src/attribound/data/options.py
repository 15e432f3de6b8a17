"""Options after a question mark: `folder:DIR?size=64&channels=1`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self, final

from attribound.data.cells import Cells
from attribound.errors import ArgumentError


def parted(text: str) -> tuple[str, str]:
    """A place and the options after it; a question mark without an equals sign belongs to the name of a file."""
    where, mark, tail = text.rpartition("?")
    return (where, tail) if mark and "=" in tail else (text, "")


@final
@dataclass(frozen=True)
class Options:
    """What a user typed after the place of the data.

    Attributes:
        where: folder or file.
        split: "train" or "test", where the format has both.
        values: the options by name.
        cells: how cells of tables are read.
    """

    where: str
    split: str
    values: dict[str, str]
    cells: Cells = field(default_factory=Cells)

    @classmethod
    def parse(cls, text: str, split: str, known: Sequence[str], cells: Cells | None = None) -> Self:
        """Split `WHERE?name=value&name=value`."""
        where, tail = parted(text)
        values: dict[str, str] = {}
        for part in tail.split("&") if tail else ():
            name, equals, value = part.partition("=")
            if name not in known or not equals or not value:
                offer = f"?{'=..., ?'.join(known)}=..." if known else "no options"
                raise ArgumentError(f"expected {offer} after {where}, got {part!r}")
            values[name] = value
        return cls(where, split, values, cells or Cells())

    def count(self, name: str, default: int) -> int:
        """A whole number >= 1."""
        text = self.values.get(name, str(default))
        if not text.isascii() or not text.isdecimal() or int(text) < 1:
            raise ArgumentError(f"expected ?{name}= a whole number >= 1, got {text!r}")
        return int(text)

    def choice(self, name: str, allowed: Sequence[str]) -> str:
        """One of several words; the first is the default."""
        text = self.values.get(name, allowed[0])
        if text not in allowed:
            raise ArgumentError(f"expected ?{name}= {' or '.join(allowed)}, got {text!r}")
        return text

    def text(self, name: str) -> str | None:
        """A word, or None."""
        return self.values.get(name)

    def words(self, name: str) -> tuple[str, ...]:
        """Words separated by commas."""
        return tuple(self.values[name].split(",")) if name in self.values else ()
