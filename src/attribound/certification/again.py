"""Sample a certificate again; where it differs, measure how much of that is rounding, on the very draws.

Another processor adds in another order. Draws at a kink of the network, and votes between nearly equal cells or
classes, then fall to the other side; which ones may do so can be counted here.
"""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
import torch
from torch import Tensor, nn

from attribound.bounds.cells import IntArray, Majority, Votes, hot_cells
from attribound.certificates.alike import SAFETY, Precision, compare
from attribound.certificates.certificate import Certificate
from attribound.certificates.record import Record
from attribound.certification.certifier import certifier_of
from attribound.checks import FloatArray
from attribound.errors import AttriboundError
from attribound.fields.bounded import Bounded, bounded
from attribound.noise import Noise
from attribound.sampling import Around, AtPoint
from attribound.sampling.along import Along
from attribound.sampling.draws import predicted
from attribound.sampling.votes import BoolArray, mark_cells

_MOVES = 2
"""Times that the inputs are moved by about a float's last digit."""

_MOST = 0.01
"""Where rounding explains a larger relative difference, a comparison would show nothing."""

_UNSUITABLE = (AttriboundError, RuntimeError, TypeError, ValueError, AttributeError, NotImplementedError)
"""What programs raise that insist on float32."""


@final
@dataclass(frozen=True)
class Again:
    """What sampling a certificate again shows.

    Attributes:
        problems: what differs by more than rounding explains.
        remarks: what differs, and rounding explains it.
    """

    problems: list[str]
    remarks: list[str]


def sample_again(stored: Certificate, field: Bounded, x: Tensor, noise: Noise) -> Again:
    """Repeat a stored certificate's computation and compare; where anything differs, measure rounding first.

    Args:
        stored: the certificate.
        field: the field that it is about.
        x: the input.
        noise: the noise.
    """
    record = stored.record
    certifier = certifier_of(record, field, noise)
    again = certifier(x, record.target, seed=record.seed, item=record.item, label=record.label)
    differences = compare(stored, again)
    if not differences:
        return Again([], [])
    family = certifier.family(x, record.target)
    precision = measure(again.record, family, AtPoint(noise, record.seed, record.item, classes=True))
    if precision.relative > _MOST:
        why = f"rounding moves each of its draws by {precision.apart:.2g} of the limit: too much to compare anything"
        return Again([*differences, why], [])
    left = compare(stored, again, precision)
    why = f"(explained by rounding, which moves its draws by {precision.apart:.2g} of the limit)"
    return Again(left, [f"{one} {why}" for one in differences if one not in left])


def measure(record: Record, family: Around | Along, design: AtPoint) -> Precision:
    """Compute the draws of a record otherwise, and see how far they differ.

    Args:
        record: what is sampled again.
        family: the maps.
        design: where its draws come from, classes included.
    """
    tally = _Tally(record)
    planned = max(record.budget // family.field.block, 2)
    precise = _in_float64(family, design)
    for shifts, generator in design.shifts(family, planned):
        if tally.rows >= record.samples:
            break
        maps, logits = design.explain(family, shifts, _same(generator))
        others = list(_otherwise(family, precise, design, shifts, generator))
        assert logits is not None
        tally.add(maps, logits, others)
    return tally.result(bounded(family.field).limit)


def _in_float64(family: Around | Along, design: AtPoint) -> Around | Along:
    """The same family in float64; itself where the model does not allow that, or is rounded on purpose."""
    if family.field.precision != "float32":
        return family
    try:
        field = copy.deepcopy(family.field)
        if not isinstance(field.model, nn.Module):
            return family
        field.model.double()
        wide = replace(family.over(field), x=family.x.double())
        shifts, generator = next(design.shifts(wide, 2))
        design.explain(wide, shifts, _same(generator))
    except _UNSUITABLE:
        return family
    return wide


def _otherwise(
    family: Around | Along, precise: Around | Along, design: AtPoint, shifts: Tensor, generator: torch.Generator
) -> Iterator[tuple[Tensor, Tensor]]:
    """Maps and logits of the same inputs, in float64 and with inputs that differ in their last digits."""
    noise = torch.Generator(shifts.device).manual_seed(0)
    for number in range(_MOVES + 1):
        if isinstance(family, Around):
            points = family.inputs(shifts)
            moved = _jolted(points, noise) if number else points.double()
            maps, logits = design.explain(precise, moved - family.x.double(), _same(generator))
        else:
            start = _jolted(family.x[None], noise)[0] if number else family.x
            other = replace(precise, x=start.to(precise.x.dtype))
            maps, logits = design.explain(other, shifts, _same(generator))
        assert logits is not None
        yield maps, logits


def _jolted(points: Tensor, noise: torch.Generator) -> Tensor:
    """Inputs (B, ...) in float64, moved by about their last digits."""
    size = points.double().flatten(1).square().mean(dim=1).sqrt().view(-1, *[1] * (points.ndim - 1))
    steps = torch.randn(points.shape, generator=noise, dtype=torch.float64, device=points.device)
    return points.double() + 2 * torch.finfo(points.dtype).eps * size * steps


def _same(generator: torch.Generator) -> torch.Generator:
    """A generator in the same state."""
    other = torch.Generator(generator.device)
    other.set_state(generator.get_state())
    return other


class _Tally:
    """Counts, over all draws, what rounding may change."""

    def __init__(self, record: Record) -> None:
        facts = record.evidence().facts
        majority, votes = facts.get(Majority), facts.get(Votes)
        self._winner = int(majority.winner) if isinstance(majority, Majority) else None
        self._fractions: Sequence[float] = ()
        self._votes: IntArray | None = None
        if isinstance(votes, Votes):
            self._fractions, self._votes = votes.fractions.tolist(), np.zeros((2, *votes.hot.shape), np.int64)
        self._norm, self._block, self.rows = record.norm, record.block, 0
        self._apart: list[FloatArray] = []
        self._margins: list[tuple[FloatArray, FloatArray, BoolArray]] = []

    def add(self, maps: Tensor, logits: Tensor, others: Sequence[tuple[Tensor, Tensor]]) -> None:
        """Take in a chunk; the first is the pilot, on which no class is counted."""
        gaps = [(maps - other).cpu().numpy() for other, _ in others]
        self._apart.append(np.max([np.linalg.norm(gap, axis=1) for gap in gaps], axis=0))
        if self._winner is not None and self.rows:
            margin = _margin(logits, self._winner)
            error = np.max([abs(margin - _margin(z, self._winner)) for _, z in others], axis=0)
            self._margins.append((margin, error, (predicted(logits) == self._winner).cpu().numpy()))
        if self._votes is not None:
            largest = np.max([abs(gap).max(axis=1) for gap in gaps], axis=0)
            slack = 2 * SAFETY * np.maximum(largest, np.median(largest))[:, None]
            for row, fraction in enumerate(self._fractions):
                self._votes[:, row] += _undecided(maps.cpu().numpy(), fraction, slack)
        self.rows += len(maps)

    def result(self, limit: float) -> Precision:
        """What was counted."""
        gained = lost = 0
        if self._margins:
            margin, error, won = (np.concatenate(part) for part in zip(*self._margins, strict=True))
            near = abs(margin) <= SAFETY * error.max()
            gained, lost = int((near & ~won).sum()), int((near & won).sum())  # of equal logits the first counts
        hotter, colder = (None, None) if self._votes is None else self._votes
        apart = float(np.concatenate(self._apart).mean()) / limit
        return Precision(apart, self._norm / limit, gained, lost, hotter, colder)


def _margin(logits: Tensor, winner: int) -> FloatArray:
    """(B,) by how much a class's logit exceeds all others; infinite where it, or all others, are ruled out."""
    values = logits.double().cpu().numpy()
    margin: FloatArray = values[:, winner] - np.delete(values, winner, axis=1).max(axis=1)
    return np.clip(margin, -1e300, 1e300)


def _undecided(maps: FloatArray, fraction: float, slack: FloatArray) -> IntArray:
    """(2, m) in how many maps each cell is cold, or hot, by no more than the map's slack."""
    sides, number = mark_cells(maps, fraction), hot_cells(fraction, maps.shape[1])
    ordered = np.partition(maps, (-number - 1, -number), axis=1)
    last, beyond = ordered[:, -number, None], ordered[:, -number - 1, None]
    hotter, colder = (sides <= 0) & (last - maps <= slack), (sides >= 0) & (maps - beyond <= slack)
    return np.array([hotter.sum(axis=0), colder.sum(axis=0)])
