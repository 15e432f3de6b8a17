"""`Codebook`: what people know about a table's columns: names, units, the words of categories, how they may change."""

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt

from attribound.errors import ArgumentError, StoredDataError
from attribound.file_quota import read_bytes, reason, shown
from attribound.rounding import with_commas
from attribound.sanitise import printable

_YES_NO = {"true": 1.0, "false": 0.0}
_NAMED = 6
"""How many categories a message names."""
_TEXTS, _SWITCHES = ("title", "unit", "one", "more", "less"), ("fixed", "whole")


@final
@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        title: what people call it; its name if empty.
        unit: what its numbers count, such as `months`,
        one: and what one of them is called, such as `month`.
        more: how a larger number is called (`longer`),
        less: and a smaller one (`shorter`).
        scale: how large a change counts as one unit; None if it was not stated.
        fixed: it cannot change.
        whole: it holds whole numbers.
        words: of its categories, in the order of the model's numbers: 0, 1, and so on.
    """

    title: str = ""
    unit: str = ""
    one: str = ""
    more: str = ""
    less: str = ""
    scale: float | None = None
    fixed: bool = False
    whole: bool = False
    words: tuple[str, ...] = ()

    def number(self, cell: Any) -> float:
        """The model's number of a cell: of a word its place, NaN of a missing one; raises ArgumentError."""
        if cell is None or type(cell).__name__ == "NAType" or cell == "" or cell != cell:
            return math.nan
        word = printable(cell) if isinstance(cell, str) else self._numeric_word(cell)
        if word in self.words:
            return float(self.words.index(word))
        try:
            value = _YES_NO[word.lower()] if word.lower() in _YES_NO else float(cell)
        except (TypeError, ValueError):
            value = math.inf
        if self.words and (word or value not in range(len(self.words))):
            raise ArgumentError(f"{cell!r}, expected one of {', '.join(map(repr, self.words))}")
        if not math.isfinite(value):
            raise ArgumentError(f"{cell!r}, expected a number")
        return value

    def _numeric_word(self, cell: Any) -> str:
        """The category that is called by this number; empty if categories are not called by numbers."""
        try:
            named = {float(word): word for word in self.words}
            return named.get(float(cell), str(cell)) if named else ""
        except (TypeError, ValueError):
            return ""

    def text(self, value: float) -> str:
        """A value as people read it: `2,792 DM`, a word, `missing`."""
        if math.isnan(value):
            return "missing"
        if self.words:
            place = int(value)
            return self.words[place] if 0 <= place < len(self.words) else "any other"
        unit = (self.one or self.unit) if value == 1 else self.unit
        return f"{with_commas(value)} {unit}".rstrip()


@final
@dataclass(frozen=True)
class Codebook:
    """A table's columns by name, as a file or a data frame states them.

    Attributes:
        columns: what is stated about some columns; nothing about the others.
        classes: names of the model's classes, in their order; empty if not stated.
        noun: what a row is, such as `applicant`.
    """

    columns: Mapping[str, Column] = field(default_factory=dict)
    classes: tuple[str, ...] = ()
    noun: str = "row"

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """From a TOML or JSON file: `classes = [...]` and a table `columns.NAME` for each column."""
        path = Path(path)
        content = read_bytes(path)
        try:
            stated = json.loads(content) if path.suffix.lower() == ".json" else tomllib.loads(content.decode())
        except (ValueError, RecursionError) as error:
            raise StoredDataError(f"cannot read the codebook {shown(path)}: {reason(error)}") from None
        try:
            return cls.parse(stated)
        except ArgumentError as error:
            raise StoredDataError(f"cannot read the codebook {shown(path)}: {error}") from None

    @classmethod
    def learn(cls, frame: Any) -> Self:
        """From a pandas frame of training data: categories, whole numbers, and standard deviations as scales.

        Of a column of text nothing is learned: the model's file may name its categories.
        """
        return cls({str(name): _learned(frame[name]) for name in frame.columns})

    @classmethod
    def of(cls, value: "Codebook | str | Path | None") -> "Codebook":
        """A codebook, the one in a file, or an empty one."""
        if value is None or isinstance(value, Codebook):
            return value or cls()
        return cls.read(value)

    @classmethod
    def parse(cls, stated: Any) -> Self:
        """From what a file holds, or `to_json` made; raises ArgumentError."""
        known = ("classes", "noun", "columns")
        if not isinstance(stated, dict) or not set(stated) <= set(known):
            found = next((name for name in stated if name not in known), "") if stated else ""
            raise ArgumentError(f"expected `classes`, `noun` and tables `columns.NAME`, got {found!r}")
        columns, noun = stated.get("columns", {}), stated.get("noun", "row")
        if not isinstance(noun, str) or not noun:
            raise ArgumentError(f"expected a word for `noun`, got {noun!r}")
        if not isinstance(columns, dict):
            raise ArgumentError(f"expected tables `columns.NAME`, got {columns!r}")
        return cls(
            {name: _column(name, entry) for name, entry in columns.items()},
            _words("classes", stated.get("classes", [])),
            printable(noun),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values, what is stated only."""
        plain = Column()
        columns = {
            name: {key: value for key, value in vars(one).items() if value != getattr(plain, key)}
            for name, one in self.columns.items()
        }
        listed = {name: {k: list(v) if k == "words" else v for k, v in one.items()} for name, one in columns.items()}
        return {"classes": list(self.classes), "noun": self.noun, "columns": listed}

    def __getitem__(self, name: str) -> Column:
        """What is stated about a column, or one about which nothing is."""
        return self.columns.get(name, Column())

    def title(self, name: str) -> str:
        """What people call a column."""
        return self[name].title or name

    def row(self, row: Any, names: Sequence[str]) -> npt.NDArray[np.float64]:
        """The numbers of one row, (columns,), in the model's order; missing cells are NaN. Raises ArgumentError.

        Args:
            row: numbers in the model's order; or cells by name, in any order: a dictionary, a pandas Series or a frame
                of one row.
            names: of the model's columns.
        """
        cells = cells_by_name(row)
        if cells is None:
            try:
                values = np.asarray(row, dtype=np.float64)
            except (TypeError, ValueError):
                raise ArgumentError("expected numbers in `row`, or cells by name (a pandas row, say)") from None
            if values.shape != (len(names),):
                raise ArgumentError(f"expected one row of {len(names)} columns, got an array of shape {values.shape}")
            return values
        _check_names(cells, names)
        return np.array([self._number(name, cells[name]) for name in names])

    def _number(self, name: str, cell: Any) -> float:
        try:
            return self[name].number(cell)
        except ArgumentError as error:
            lacking = isinstance(cell, str) and not self[name].words
            hint = ": state the words of its categories in a codebook" if lacking else ""
            raise ArgumentError(f"the column {name!r} is {error}{hint}") from None

    def check(self, names: Sequence[str]) -> Self:
        """The codebook, if every column that it names is among these; raises ArgumentError."""
        for name in self.columns:
            if name not in names:
                raise ArgumentError(f"the codebook names the column {name!r}, expected one of {', '.join(names)}")
        return self

    def with_words(self, known: Mapping[str, tuple[str, ...]]) -> Self:
        """The same with a model's own words for its categories; raises ArgumentError where the two differ.

        Args:
            known: by column, the words in the order of the model's numbers.
        """
        for name, words in known.items():
            if self[name].words not in ((), words):
                ours, theirs = (", ".join(some[:_NAMED]) for some in (self[name].words, words))
                raise ArgumentError(f"the codebook calls the categories of {name!r} {ours}, the model {theirs}")
        return replace(
            self, columns={**self.columns, **{name: replace(self[name], words=known[name]) for name in known}}
        )

    def scales(self, names: Sequence[str]) -> npt.NDArray[np.float64] | None:
        """The unit of each column, 0 for fixed ones and 1 for categories; None if no scale is stated."""
        chosen = [self[name] for name in names]
        if all(one.scale is None for one in chosen):
            return None
        for name, one in zip(names, chosen, strict=True):
            if one.scale is None and not (one.fixed or one.words):
                raise ArgumentError(f"the codebook states no scale for {name!r}: state one, or fixed = true")
        return np.array([0.0 if one.fixed else 1.0 if one.scale is None else one.scale for one in chosen])


def cells_by_name(row: Any) -> dict[str, Any] | None:
    """The cells of a dictionary, a Series or a frame of one row; None for anything else."""
    if hasattr(row, "columns") and hasattr(row, "iloc"):
        if len(row) != 1:
            raise ArgumentError(f"expected one row, got a frame of {len(row)}: take one, frame.iloc[0]")
        row = row.iloc[0]
    if not isinstance(row, Mapping) and not (hasattr(row, "index") and hasattr(row, "items")):
        return None
    return {str(name): cell for name, cell in row.items()}


def _check_names(cells: Mapping[str, Any], names: Sequence[str]) -> None:
    for name in names:
        if name not in cells:
            raise ArgumentError(f"the row lacks the column {name!r} of the model; it has {', '.join(cells)}")
    known = set(names)
    for name in cells:
        if name not in known:
            raise ArgumentError(f"the model has no column {name!r}: leave it out of the row")


def _learned(cells: Any) -> Column:
    """What a column of a pandas frame shows."""
    if hasattr(cells, "cat"):
        return Column(words=tuple(map(str, cells.cat.categories)))
    try:
        numbers = np.asarray(cells.astype("float64"))
    except (TypeError, ValueError):
        return Column()
    known = numbers[np.isfinite(numbers)]
    deviation = float(np.std(known)) if known.size else 0.0
    # pandas makes fractions of whole numbers where some are missing.
    whole = known.size < numbers.size and bool((known == np.round(known)).all())
    return Column(scale=deviation, fixed=deviation == 0, whole=whole or getattr(cells.dtype, "kind", "") in "iub")


def _column(name: str, entry: Any) -> Column:
    known = [one.name for one in fields(Column)]
    if not isinstance(entry, dict) or not set(entry) <= set(known):
        wrong = next(key for key in entry if key not in known) if isinstance(entry, dict) else entry
        raise ArgumentError(f"expected {', '.join(known)} in the column {name!r}, got {wrong!r}")
    return Column(**{key: _value(f"{key} of the column {name!r}", key, value) for key, value in entry.items()})


def _value(what: str, key: str, value: Any) -> Any:
    """One entry of a column; raises ArgumentError if it is of another kind."""
    if key == "words":
        return _words(what, value)
    if key in _TEXTS and isinstance(value, str):
        return printable(value)
    if key in _SWITCHES and isinstance(value, bool):
        return value
    if key == "scale" and type(value) in (int, float) and math.isfinite(value) and value >= 0:
        return float(value)
    wanted = "text" if key in _TEXTS else "true or false" if key in _SWITCHES else "a finite number >= 0"
    raise ArgumentError(f"expected {wanted} for {what}, got {value!r}")


def _words(what: str, value: Any) -> tuple[str, ...]:
    words = tuple(printable(one) if isinstance(one, str) else "" for one in value) if isinstance(value, list) else ("",)
    if not all(words) or len(set(words)) < len(words):
        raise ArgumentError(f"expected a list of different words for {what}, got {value!r}")
    return words
