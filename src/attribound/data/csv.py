"""CSV files: a first row of names, then numbers; separated by commas, semicolons or tabs."""

import csv
from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from attribound.data.arrays import Arrays
from attribound.data.cells import Cells
from attribound.data.options import Options
from attribound.data.table import Choose, Columns, Table, check_numbers, open_table
from attribound.errors import StoredDataError
from attribound.file_quota import check_bytes, reason, shown, size_of

_SEPARATORS = ",;\t"


def open_csv(typed: Options) -> Arrays:
    """`csv:FILE?label=COLUMN&scale=FILE`."""
    return open_table(typed, read_csv, "csv")


def read_csv(path: Path, choose: Choose, cells: Cells) -> Table:
    """The chosen columns of a CSV file; a cell that is no number is a problem of its row alone."""
    size = size_of(path)
    check_bytes(shown(path), size, size)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            separator = max(_SEPARATORS, key=first.count)
            names = [name.strip() for name in next(csv.reader([first], delimiter=separator), [])]
            _check_names(path, names)
            return _rows(path, csv.reader(file, delimiter=separator), names, choose(path, names), cells)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise StoredDataError(f"cannot read {shown(path)}: {reason(error)}") from None


def _check_names(path: Path, names: list[str]) -> None:
    if not names or all(_is_number(name) for name in names):
        raise StoredDataError(f"expected the first row of {shown(path)} to name its columns")


def _rows(path: Path, rows: Iterator[list[str]], names: list[str], columns: Columns, cells: Cells) -> Table:
    numbers = {name: place for place, name in enumerate(names)}
    places = [numbers[name] for name in columns.inputs]
    texts = {numbers[name]: list[str]() for name in (columns.label, columns.id) if name is not None}
    values, problems = array("d"), {}
    stored, nothing = size_of(path), array("d", [np.nan]) * len(places)
    for number, row in enumerate(row for row in rows if row):
        # A row may be one letter long and still stand for a number per column.
        check_bytes(shown(path), 8 * (len(values) + len(places)), stored)
        if len(row) != len(names):
            problems[number] = f"it has {len(row)} cells, expected {len(names)}"
            values.extend(nothing)
        else:
            for place in places:
                value = cells.read(names[place], row[place])
                if isinstance(value, str):
                    problems.setdefault(number, value)
                values.append(np.nan if isinstance(value, str) else value)
        for place, text in texts.items():
            text.append(row[place].strip() if place < len(row) else "")
    matrix = np.array(values).reshape(-1, len(places))
    labels = None if columns.label is None else tuple(texts[numbers[columns.label]])
    ids = () if columns.id is None else tuple(texts[numbers[columns.id]])
    return check_numbers(Table(path, columns.inputs, matrix, labels, problems, ids), cells)


def _is_number(cell: str) -> bool:
    try:
        return bool(np.isfinite(float(cell)))
    except ValueError:
        return False
