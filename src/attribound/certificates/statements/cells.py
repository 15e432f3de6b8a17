"""Cells that provably stay among the largest of the map, or not (docs/theory/cells.md)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from attribound import checks as check
from attribound.bounds.cells import Votes, hot_cells
from attribound.certificates.answers import CellTally
from attribound.certificates.statements.base import Asking, Option, Statement
from attribound.checks import FloatArray
from attribound.errors import ArgumentError, AttriboundError, StoredDataError
from attribound.rounding import exact_text

if TYPE_CHECKING:
    from attribound.certificates.certificate import Certificate
    from attribound.sampling.statistic import Statistic

Marks = npt.NDArray[np.int8]


@final
@dataclass(frozen=True)
class Cells(Statement):
    """Which cells stay hot or cold.

    Attributes:
        fractions: which parts of the map are called hot.
    """

    fractions: tuple[float, ...]
    name = "cells"
    option = Option("Certify cells too: fractions of the map that are hot, e.g. 0.5,0.3,0.1.", "FRACTIONS")
    facts = (Votes,)
    keys = ("cells",)

    @classmethod
    def parse(cls, text: str) -> list[float]:
        """Numbers with commas between them."""
        try:
            return [float(part) for part in text.split(",") if part.strip()]
        except ValueError:
            raise ArgumentError(f"expected --cells FRACTION,FRACTION,..., got {text!r}") from None

    @classmethod
    def ask(cls, value: Any, asking: Asking) -> "Cells":
        """Votes mean something only where every map has a noisy input of its own."""
        fractions = tuple(np.atleast_1d(check.fraction("cells", value)).tolist())
        if asking.block > 1:
            raise ArgumentError(
                f"expected no `cells` for {asking.method.partition('@')[0]} on a random path: "
                f"{asking.block} noisy inputs share a map"
            )
        return cls(fractions)

    def check_size(self, size: int) -> None:
        """Every fraction must mark some of the cells and not all."""
        for fraction in self.fractions:
            hot_cells(fraction, size)

    def statistics(self) -> "list[Statistic]":
        """Votes."""
        from attribound.sampling.votes import VoteCount

        return [VoteCount(fractions=self.fractions)]

    @classmethod
    def answer(cls, certificate: "Certificate", epsilons: Sequence[float], cosines: Sequence[float]) -> dict[str, Any]:
        """For every fraction that was counted and every epsilon, how many cells are proved."""
        votes = certificate.evidence.fact(Votes)
        return {
            "cells": {
                exact_text(float(fraction)): {
                    exact_text(float(epsilon)): tally(marks(certificate, float(fraction), epsilon, None))
                    for epsilon in epsilons
                }
                for fraction in votes.fractions
            }
        }

    @classmethod
    def problems(cls, certificate: "Certificate") -> list[str]:
        """Fractions that were not counted, and cells stated as proved that are not."""
        problems = []
        for fraction, table in certificate.record.cells.items():
            for epsilon, stated in table.items():
                try:
                    derived = tally(certificate.cells(float(fraction), float(epsilon)))
                except AttriboundError as error:
                    problems.append(f"states cells at {fraction}: {error}")
                    continue
                whole = stated.hot + stated.cold + stated.unproved == derived.hot + derived.cold + derived.unproved
                if not (whole and 0 <= stated.hot <= derived.hot and 0 <= stated.cold <= derived.cold):
                    problems.append(f"states cells({fraction}, {epsilon}) = {stated}, but its evidence gives {derived}")
        return problems

    @classmethod
    def asked(cls, certificate: "Certificate") -> list[float]:
        """The fractions that were counted."""
        return [float(fraction) for fraction in certificate.evidence.fact(Votes).fractions]

    @classmethod
    def typed(cls, value: Any) -> str:
        """Numbers with commas between them."""
        return ",".join(map(exact_text, value))

    @classmethod
    def words(cls, certificate: "Certificate") -> dict[str, str]:
        """How many cells are proved, at no change and at the stated ones."""
        record = certificate.record
        epsilons = sorted({float(epsilon) for table in record.cells.values() for epsilon in table}) or [0.0]
        return {
            f"cells among the largest {fraction:.0%}": "; ".join(
                f"{counted.hot} hot, {counted.cold} cold, {counted.unproved} unproved at epsilon {exact_text(epsilon)}"
                for epsilon in epsilons
                for counted in [tally(certificate.cells(fraction, epsilon))]
            )
            for fraction in cls.asked(certificate)
        }


def marks(certificate: "Certificate", fraction: float, epsilon: float, samples: int | None) -> Marks:
    """+1 where a cell is proved hot at that fraction and epsilon, -1 where cold, 0 elsewhere; in the map's shape."""
    sides, reach = _votes(certificate).radii(fraction, certificate.law, samples)
    proved = np.where((reach > 0) & (reach >= epsilon), sides, 0).astype(np.int8)
    return proved.reshape(_shape(certificate, proved.size))


def radii(certificate: "Certificate", fraction: float, samples: int | None) -> FloatArray:
    """How far each cell's mark is proved; in the map's shape."""
    reach = _votes(certificate).radii(fraction, certificate.law, samples)[1]
    return reach.reshape(_shape(certificate, reach.size))


def tally(proved: Marks) -> CellTally:
    """Count marks."""
    hot, cold = int((proved > 0).sum()), int((proved < 0).sum())
    return CellTally(hot, cold, proved.size - hot - cold)


def _votes(certificate: "Certificate") -> Votes:
    if Votes not in certificate.evidence.facts:
        raise StoredDataError("no votes were counted for this certificate: certify with cells=(0.5, 0.3, 0.1)")
    return certificate.evidence.fact(Votes)


def _shape(certificate: "Certificate", size: int) -> tuple[int, ...]:
    shape = certificate.record.map_shape
    return shape if math.prod(shape) == size else (size,)
