"""A small table, as Markdown and as LaTeX."""

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import final

from scipy import special

from attribound.rounding import lower_quantile, round_down

_KEPT = 8
"""Digits that files of numbers keep: twice as many as tables show."""


@final
@dataclass(frozen=True)
class Table:
    """Columns, rows of text, and remarks below.

    Attributes:
        title: what it shows.
        columns: names of the columns.
        rows: their cells.
        notes: what a reader must know to compare.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def markdown(self) -> str:
        """GitHub's Markdown."""
        lines = [f"# {self.title}", "", _line(self.columns), _line(["---"] * len(self.columns))]
        lines += [_line(row) for row in self.rows]
        return "\n".join([*lines, "", *(f"- {note}" for note in self.notes)]) + "\n"

    def latex(self) -> str:
        """A booktabs table."""
        lines = [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{_tex(self.title)}}}",
            rf"\begin{{tabular}}{{{'l' * len(self.columns)}}}",
            r"\toprule",
            " & ".join(_tex(cell) for cell in self.columns) + r" \\",
            r"\midrule",
            *(" & ".join(_tex(cell) for cell in row) + r" \\" for row in self.rows),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
        return "\n".join(lines) + "\n"


def number(value: float | None, digits: int = 4) -> str:
    """A number as printed; a slash where the paper has one."""
    return "/" if value is None else f"{value:.{digits}f}"


def certified(value: float, digits: int = 4) -> str:
    """A number that is proved: rounded down."""
    return round_down(value, digits)


def median(values: Iterable[float]) -> float:
    """The middle one; of two the smaller."""
    return lower_quantile(list(values), 0.5)


def mean_interval(values: Sequence[float]) -> str:
    """The mean, with half of its 95 % interval (Student's t) where there are two values or more."""
    mean = statistics.mean(values)
    if len(values) < 2:
        return f"{mean:.3f}"
    half = float(special.stdtrit(len(values) - 1, 0.975)) * statistics.stdev(values) / math.sqrt(len(values))
    return f"{mean:.3f} +- {half:.3f}"


def kept(values: Iterable[float], rounded: Callable[[float, int], float | str] = round) -> list[float]:
    """Numbers as a file keeps them; for bounds `rounded` is `round_down` or `round_up`, so that they stay bounds."""
    return [float(rounded(float(value), _KEPT)) for value in values]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def _tex(text: str) -> str:
    for sign in "\\&%$#_{}":
        text = text.replace(sign, rf"\{sign}" if sign != "\\" else r"\textbackslash ")
    return text.replace("<=", r"$\le$").replace(">=", r"$\ge$")
