"""Cells of tables: from what is written in one to a number."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import final

from attribound.errors import ArgumentError
from attribound.sanitise import printable

_MISSING = frozenset({"", "na", "nan", "null", "none", "?"})
"""How people write a missing cell."""
_NAMED = 8
"""How many categories a message names."""


@final
@dataclass(frozen=True)
class Cells:
    """How cells are read.

    Attributes:
        missing: a missing cell is NaN; else it is a problem of its row.
        words: by column of categories, its words in the order of their numbers.
    """

    missing: bool = False
    words: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def with_words(self, stated: Mapping[str, Sequence[str]]) -> "Cells":
        """The same with a codebook's words; raises ArgumentError where the model calls categories otherwise."""
        for column, words in stated.items():
            if column in self.words and tuple(self.words[column]) != tuple(words):
                known = ", ".join(self.words[column][:_NAMED])
                raise ArgumentError(f"the codebook and the model name categories of {column!r} differently: {known}")
        return replace(self, words={**self.words, **stated})

    def read(self, column: str, text: str) -> float | str:
        """The number of a cell, or what is wrong with it, in words."""
        written, words = printable(text), self.words.get(column, ())
        if written in words:
            return float(words.index(written))
        if self.missing and written.lower() in _MISSING:
            return math.nan
        try:
            value = math.nan if words else float(written)
        except ValueError:
            value = math.nan
        if math.isfinite(value):
            return value
        known = ", ".join(words[:_NAMED]) + ", ..." * (len(words) > _NAMED)
        return (
            f"column {column!r} is {text!r}, expected {f'a category of the model ({known})' if words else 'a number'}"
        )
