"""Tables: columns of numbers, perhaps a column of labels, in the columns' own units."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import final

import numpy as np
import torch

from attribound.codebook import Codebook
from attribound.data.arrays import Arrays
from attribound.data.cells import Cells
from attribound.data.options import Options
from attribound.errors import ArgumentError, StoredDataError
from attribound.file_quota import shown

_WHOLE = re.compile(r"\d{1,9}(?:\.0*)?", re.ASCII)
TABLE_OPTIONS = ("label", "id", "classes", "drop", "columns", "codebook", "scale", "standardise")


@final
@dataclass(frozen=True)
class Table:
    """What a reader found in a file.

    Attributes:
        path: the file.
        names: of the columns of numbers.
        values: (N, F) numbers, NaN where there was none.
        labels: text of the label column, None without one.
        problems: what is wrong with a row, by its number.
        ids: text of the column that names the rows; empty without one.
    """

    path: Path
    names: tuple[str, ...]
    values: np.ndarray
    labels: tuple[str, ...] | None
    problems: Mapping[int, str] = field(default_factory=dict)
    ids: tuple[str, ...] = ()


@final
@dataclass(frozen=True)
class Columns:
    """Which columns are wanted: those of the inputs, in order, that of the labels, that of the rows' names."""

    inputs: tuple[str, ...]
    label: str | None = None
    id: str | None = None


Choose = Callable[[Path, Sequence[str]], Columns]
ReadTable = Callable[[Path, Choose, Cells], Table]
"""From a file, a choice among the names of its columns, and how cells are read, to a table."""


def open_table(typed: Options, read: ReadTable, kind: str) -> Arrays:
    """The data set of a table.

    `label=COLUMN` names the labels and `classes=A,B` their order; `id=COLUMN` names the rows; `drop=A,B` leaves
    columns out, `columns=A,B` takes these in this order. `scale=FILE` learns
    each column's standard deviation from another table as the unit of noise, inputs keep their own units;
    `codebook=FILE` states titles, units, scales and the words of categories;
    `standardise=FILE` also rescales the inputs to mean 0 and deviation 1, for models that were trained so.
    """
    if typed.text("scale") and typed.text("standardise"):
        raise ArgumentError("expected ?scale= or ?standardise=, not both")
    if typed.text("drop") and typed.text("columns"):
        raise ArgumentError("expected ?drop= or ?columns=, not both")
    asked = Asked(typed.text("label"), typed.text("id"), typed.words("drop"), tuple(typed.words("columns")))
    chosen = partial(_chosen, asked=asked)
    codebook = Codebook.of(typed.text("codebook"))
    cells = typed.cells.with_words({name: one.words for name, one in codebook.columns.items() if one.words})
    table = read(Path(typed.where), chosen, cells)
    values, scale = table.values, noise_scale(codebook.check(table.names), table.names)
    if source := typed.text("scale") or typed.text("standardise"):
        ordered = not typed.text("columns")
        same = partial(_the_same, names=table.names, ordered=ordered)
        mean, deviation = _moments(read(Path(source), same, cells), cells)
        if typed.text("scale"):
            scale = torch.from_numpy(deviation.astype(np.float64))
        else:
            values = (values - mean) / deviation
    numbers, classes = _classes(table, typed.words("classes") or codebook.classes)
    return Arrays(
        torch.from_numpy(values.astype(np.float32)),
        numbers,
        f"{kind}:{shown(table.path)}",
        classes,
        features=table.names,
        scale=scale,
        codebook=codebook,
        problems=table.problems,
        exact=values,
        names=table.ids,
    )


def noise_scale(codebook: Codebook, names: Sequence[str]) -> torch.Tensor | None:
    """The units of noise that a codebook states: categories and fixed columns get none; None if it states none."""
    scales = codebook.scales(names)
    if scales is None:
        return None
    return torch.from_numpy(np.where([bool(codebook[name].words) for name in names], 0.0, scales))


@final
@dataclass(frozen=True)
class Asked:
    """Columns by name, as typed after the question mark."""

    label: str | None
    id: str | None
    drop: Sequence[str]
    stated: tuple[str, ...]


def _chosen(path: Path, names: Sequence[str], *, asked: Asked) -> Columns:
    """The stated columns in their order, or every column but labels, names of rows and those to leave out."""
    found, apart = set(names), [name for name in (asked.label, asked.id) if name]
    if len(found) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise StoredDataError(f"{shown(path)} has two columns {twice!r}")
    for name in (*apart, *asked.drop, *asked.stated):
        if name not in found:
            raise StoredDataError(f"{shown(path)} has no column {name!r}; it has {', '.join(names)}")
    inputs = asked.stated or tuple(name for name in names if name not in {*apart, *asked.drop})
    if not inputs:
        raise StoredDataError(f"{shown(path)} has no columns of numbers")
    return Columns(inputs, asked.label, asked.id)


def _the_same(path: Path, found: Sequence[str], *, names: Sequence[str], ordered: bool) -> Columns:
    """The columns of the data; in another order than there, unless one was stated, the model's is not known."""
    there = set(found)
    for name in names:
        if name not in there:
            raise StoredDataError(f"{shown(path)} lacks the column {name!r} of the data")
    common = [name for name in found if name in set(names)]
    if ordered and common != list(names):
        place = next(place for place, name in enumerate(names) if name != common[place])
        raise StoredDataError(
            f"expected the columns in the order of {shown(path)}, got {names[place]!r} where it has "
            f"{common[place]!r}: a model knows columns by their order, not by their names; type "
            f"its order, ?columns={','.join(common)}"
        )
    return Columns(tuple(names))


def _moments(learnt: Table, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each column, from the rows that are whole; from all cells if some may lack."""
    whole = learnt.values if cells.missing else learnt.values[np.isfinite(learnt.values).all(axis=1)]
    if len(whole) < 2:
        raise StoredDataError(f"{shown(learnt.path)} has {len(whole)} whole rows, expected at least 2 to learn a scale")
    if cells.missing:
        return column_moments(whole)
    deviation = whole.std(axis=0)
    for name, value in zip(learnt.names, deviation, strict=True):
        if not 0 < value < np.inf:
            raise StoredDataError(
                f"the column {name!r} of {shown(learnt.path)} is constant: leave it out, ?drop={name}"
            )
    return whole.mean(axis=0), deviation


def column_moments(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each column's cells that are not missing; 0 where there are none."""
    known = np.isfinite(values)
    count = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, values, 0.0).sum(axis=0) / count
    return mean, np.sqrt((np.where(known, values - mean, 0.0) ** 2).sum(axis=0) / count)


def _classes(table: Table, stated: Sequence[str]) -> tuple[torch.Tensor | None, tuple[str, ...]]:
    """Numbers of the labels and names of the classes: as stated, whole numbers as they are, others alphabetically."""
    if table.labels is None:
        return None, tuple(stated)
    if not stated and table.labels and all(_WHOLE.fullmatch(label) for label in table.labels):
        return torch.tensor([int(label.partition(".")[0]) for label in table.labels]), ()
    names = tuple(stated) or tuple(sorted(set(table.labels)))
    numbers = {name: number for number, name in enumerate(names) if name}
    for row, label in enumerate(table.labels):
        if label not in numbers:
            expected = ", ".join(numbers) if stated else "a label"
            raise StoredDataError(f"row {row} of {shown(table.path)} has the label {label!r}, expected {expected}")
    return torch.tensor([numbers[label] for label in table.labels], dtype=torch.int64), names


def check_numbers(table: Table, cells: Cells) -> Table:
    """The table, if every column that must holds a number somewhere; raises StoredDataError otherwise."""
    if not len(table.values):
        raise StoredDataError(f"{shown(table.path)} has no rows")
    empty = ~np.isfinite(table.values).any(axis=0) & (not cells.missing)
    if empty.any():
        name = table.names[int(empty.argmax())]
        raise StoredDataError(
            f"the column {name!r} of {shown(table.path)} holds no numbers: leave it out, ?drop={name}, "
            f"or say that it holds the labels, ?label={name}"
        )
    return table
