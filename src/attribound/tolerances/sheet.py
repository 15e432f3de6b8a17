"""A tolerance sheet: what is proved about each change of one input."""

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import final

import torch
from torch import Tensor

from attribound.errors import ArgumentError, StoredDataError
from attribound.files import write_whole
from attribound.rounding import exact_text, round_down
from attribound.tolerances.answer import Tolerance
from attribound.tolerances.record import float_map
from attribound.tolerances.sheet_file import SheetRecord, encode_sheet, read_sheet, sheet_problems
from attribound.tolerances.words import interval_text, proof_text


@final
@dataclass(frozen=True, repr=False)
class Sheet:
    """Tolerances by the name of the change; `print` shows a table, `words` says exactly what is proved.

    Attributes:
        tolerances: by name, in the order asked.
        alpha: with probability at least 1 - alpha all that the sheet says is true; exact changes spend none of it.
        plain: the plain map, of the model in float32.
    """

    tolerances: Mapping[str, Tolerance]
    alpha: float
    plain: Tensor

    def __getitem__(self, name: str) -> Tolerance:
        if name not in self.tolerances:
            raise ArgumentError(f"expected a change of this sheet ({', '.join(self.tolerances)}), got {name!r}")
        return self.tolerances[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tolerances)

    def __len__(self) -> int:
        return len(self.tolerances)

    @property
    def _first(self) -> Tolerance:
        return next(iter(self.tolerances.values()))

    @property
    def cosines(self) -> tuple[float, ...]:
        """What was asked."""
        return self._first.record.cosines

    @property
    def target(self) -> int:
        """The class that is explained."""
        return self._first.record.target

    @property
    def prediction(self) -> int:
        """The class that the model gives to the unchanged input."""
        return self._first.record.prediction

    @property
    def method(self) -> str:
        """How maps are made."""
        subject = self._first.record.subject
        return subject.attribution + ("" if subject.precision == "float32" else f" in {subject.precision}")

    @property
    def seed(self) -> int:
        """Of the draws."""
        return self._first.record.seed

    def words(self) -> str:
        """What exactly is said, one sentence or two per change and cosine."""
        return "\n".join(one.words(cosine) for one in self.tolerances.values() for cosine in one.reaches)

    def save(self, path: str | Path) -> None:
        """Write the sheet with its maps and what breaks them as JSON; the file appears whole or not at all."""
        pictures = {"plain": self.plain} | {k: v for one in self.tolerances.values() for k, v in one.pictures.items()}
        sheet = SheetRecord(
            alpha=self.alpha,
            records=tuple(one.record for one in self.tolerances.values()),
            pictures={name: float_map(values.detach().cpu().numpy()) for name, values in pictures.items()},
        )
        write_whole(path, encode_sheet(sheet))

    @classmethod
    def load(cls, path: str | Path) -> "Sheet":
        """Read a sheet written by `save`, unless it states more than follows from it. Nothing in it is executed."""
        stored = read_sheet(path)
        if problems := sheet_problems(stored):
            raise StoredDataError(f"{path} contradicts itself: {problems[0]}")
        pictures = {name: torch.from_numpy(packed.values()) for name, packed in stored.pictures.items()}
        tolerances = {one.part: Tolerance.opened(one, pictures) for one in stored.records}
        return cls(tolerances, stored.alpha, pictures.get("plain", torch.zeros(0)))

    def _table(self) -> list[list[str]]:
        head = ["change", *(f"cosine {exact_text(cosine)}" for cosine in self.cosines)]
        breaks = f"breaks {exact_text(self.cosines[0])} at" if len(self.cosines) > 1 else "breaks at"
        rows = [[*head, "unit", "class stays", "proof", breaks]]
        for one in self.tolerances.values():
            broken = f"{one.breaks.label} ({round_down(one.breaks.cosine, 3)})" if one.breaks else "not found"
            reaches = [interval_text(interval) for interval in one.reaches.values()]
            known = [one.change.unit, interval_text(one.class_reach), proof_text(one.record), broken]
            rows.append([one.name, *reaches, *known])
        return rows

    @property
    def _ends(self) -> tuple[str, str]:
        """The lines above and below the table."""
        head = f"{self.method}, class {self.target}: how far the input may change"
        return head, f"alpha {self.alpha:g} for the whole sheet; exact: every alternative was tried"

    def __repr__(self) -> str:
        rows, (head, foot) = self._table(), self._ends
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        return "\n".join([head, *(line.rstrip() for line in lines), foot])

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        (first, *rest), (head, foot) = self._table(), self._ends
        cells = ["".join(f"<th>{html.escape(cell)}</th>" for cell in first)]
        cells += ["".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rest]
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        return f"<p>{html.escape(head)}</p><table>{body}</table><p>{html.escape(foot)}</p>"
