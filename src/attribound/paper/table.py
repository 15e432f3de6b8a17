"""A small table, as Markdown and as LaTeX."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from attribound.certificate import round_down


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


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def _tex(text: str) -> str:
    for sign in "\\&%$#_{}":
        text = text.replace(sign, rf"\{sign}" if sign != "\\" else r"\textbackslash ")
    return text.replace("<=", r"$\le$").replace(">=", r"$\ge$")
