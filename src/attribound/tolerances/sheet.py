"""A tolerance sheet: what is proved about each change of one input."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import final

from torch import Tensor

from attribound.errors import ArgumentError
from attribound.rounding import exact_text
from attribound.tolerances.answer import Tolerance, interval_text


@final
@dataclass(frozen=True, repr=False)
class Sheet:
    """Tolerances by the name of the change; `print` shows a table, `words` says exactly what is proved.

    Attributes:
        tolerances: by name, in the order asked.
        alpha: with probability at least 1 - alpha all that the sheet says is true; exact changes spend none of it.
        target: the class that is explained.
        prediction: the class that the model gives to the unchanged input.
        plain: the plain map.
        method: how maps are made.
        seed: of the draws.
    """

    tolerances: Mapping[str, Tolerance]
    alpha: float
    target: int
    prediction: int
    plain: Tensor
    method: str
    seed: int

    def __getitem__(self, name: str) -> Tolerance:
        if name not in self.tolerances:
            raise ArgumentError(f"expected a change of this sheet ({', '.join(self.tolerances)}), got {name!r}")
        return self.tolerances[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tolerances)

    def __len__(self) -> int:
        return len(self.tolerances)

    @property
    def cosines(self) -> tuple[float, ...]:
        """What was asked."""
        return tuple(next(iter(self.tolerances.values())).reaches)

    def words(self) -> str:
        """What exactly is said, one sentence or two per change and cosine."""
        return "\n".join(one.words(cosine) for one in self.tolerances.values() for cosine in one.reaches)

    def __repr__(self) -> str:
        head = f"{self.method}, class {self.target}: how far the input may change"
        columns = [["change", *(f"cosine {exact_text(cosine)}" for cosine in self.cosines)]]
        columns[0] += ["unit", "class stays", "proof", "breaks at"]
        for one in self.tolerances.values():
            broken = f"{one.breaks.label} ({one.breaks.cosine:.2f})" if one.breaks else "not found"
            reaches = [interval_text(interval) for interval in one.reaches.values()]
            proof = f"alpha {one.alpha:g}" if one.proof == "alpha" else one.proof
            columns.append([one.name, *reaches, one.change.unit, interval_text(one.class_reach), proof, broken])
        widths = [max(len(row[k]) for row in columns) for k in range(len(columns[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in columns]
        foot = f"alpha {self.alpha:g} for the whole sheet; exact: every alternative was tried"
        return "\n".join([head, *(line.rstrip() for line in lines), foot])
