"""CSV files: a first row of names, then numbers; separated by commas, semicolons or tabs."""

import csv
from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from attribound.data.arrays import Arrays
from attribound.data.options import Options
from attribound.data.table import Choose, Columns, Table, check_numbers, open_table
from attribound.errors import StoredDataError
from attribound.file_quota import check_bytes, reason, shown, size_of

_SEPARATORS = ",;\t"


def open_csv(typed: Options) -> Arrays:
    """`csv:FILE?label=COLUMN&scale=FILE`."""
    return open_table(typed, read_csv, "csv")


def read_csv(path: Path, choose: Choose) -> Table:
    """The chosen columns of a CSV file; a cell that is no number is a problem of its row alone."""
    size = size_of(path)
    check_bytes(shown(path), size, size)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            separator = max(_SEPARATORS, key=first.count)
            names = [name.strip() for name in next(csv.reader([first], delimiter=separator), [])]
            _check_names(path, names)
            return _rows(path, csv.reader(file, delimiter=separator), names, choose(path, names))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise StoredDataError(f"cannot read {shown(path)}: {reason(error)}") from None


def _check_names(path: Path, names: list[str]) -> None:
    if not names or all(_is_number(name) for name in names):
        raise StoredDataError(f"expected the first row of {shown(path)} to name its columns")


def _rows(path: Path, rows: Iterator[list[str]], names: list[str], columns: Columns) -> Table:
    numbers = {name: place for place, name in enumerate(names)}
    places = [numbers[name] for name in columns.inputs]
    texts = {numbers[name]: list[str]() for name in (columns.label, columns.id) if name is not None}
    values, problems = array("d"), {}
    stored, nothing = size_of(path), array("d", [np.nan]) * len(places)
    for number, cells in enumerate(row for row in rows if row):
        # A row may be one letter long and still stand for a number per column.
        check_bytes(shown(path), 8 * (len(values) + len(places)), stored)
        if len(cells) != len(names):
            problems[number] = f"it has {len(cells)} cells, expected {len(names)}"
            values.extend(nothing)
        else:
            for place in places:
                if _is_number(cells[place]):
                    values.append(float(cells[place]))
                else:
                    values.append(np.nan)
                    problems.setdefault(number, f"column {names[place]!r} is {cells[place]!r}, expected a number")
        for place, text in texts.items():
            text.append(cells[place].strip() if place < len(cells) else "")
    matrix = np.array(values).reshape(-1, len(places))
    labels = None if columns.label is None else tuple(texts[numbers[columns.label]])
    ids = () if columns.id is None else tuple(texts[numbers[columns.id]])
    return check_numbers(Table(path, columns.inputs, matrix, labels, problems, ids))


def _is_number(cell: str) -> bool:
    try:
        return bool(np.isfinite(float(cell)))
    except ValueError:
        return False
