"""Draws of maps: the one sampling loop. Everything that needs draws takes them from here."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from attribound.checks import NORM_SLACK
from attribound.errors import LimitError, NonFiniteError
from attribound.fields.base import Field
from attribound.fields.bounded import bounded
from attribound.fields.exchange import Call
from attribound.fields.families import Family
from attribound.noise import Noise
from attribound.randomness import Purpose, stream
from attribound.sampling.statistic import Draws
from attribound.sampling.witness import Witness

CHUNK_ROWS = 256
_CHUNK_NUMBERS = 2**24
_BATCH_NUMBERS = 2**20
_LIGHT_NUMBERS = 16 * 3 * 224 * 224
"""Where gradients stop at a layer: 16 photographs. With one thread, torch takes faster convolutions from 16 rows on."""


@final
@dataclass(frozen=True)
class AtPoint:
    """The design that looks around one point: independent noise on the parameters.

    Attributes:
        noise: the noise.
        seed: seed of the run.
        item: number of the input in the run.
        purpose: what the draws are for; purposes share no stream.
        batch: most rows per model call; None sizes it by the input.
        classes: whether the model's class at every draw is wanted too.
        parts: the least number of chunks, the first of which is the pilot.
    """

    noise: Noise
    seed: int = 0
    item: int = 0
    purpose: Purpose = Purpose.CERTIFICATE
    batch: int | None = None
    classes: bool = False
    parts: int = 16

    def chunk_rows(self, family: Family, planned: int) -> int:
        """Draws per chunk: at least `parts` chunks, and none too large for memory."""
        fitting = max(_CHUNK_NUMBERS // (family.x.numel() * family.field.block), 1)
        return min(CHUNK_ROWS, fitting, max(planned // self.parts, 1))

    def rounds(self, family: Family, planned: int, witness: Witness | None = None) -> Iterator[Draws]:
        """Chunks of independent draws, `planned` in all: checked, flat and float64.

        Args:
            family: the maps.
            planned: draws in all.
            witness: sees every call; the caller who takes the last draw lets it check once more.
        """
        field, done = bounded(family.field), 0
        for shifts, generator in self.shifts(family, planned):
            maps, logits = self.explain(family, shifts, generator, witness)
            check_maps(maps, field.limit, done)
            done += len(shifts)
            if field.block > 1:
                maps = maps.view(len(shifts) // field.block, field.block, -1).mean(dim=1)
            yield Draws(maps, None if logits is None else predicted(logits).cpu())

    def shifts(self, family: Family, planned: int) -> Iterator[tuple[Tensor, torch.Generator]]:
        """The noise of each chunk, and the generator of what else is random about its maps."""
        rows, done, index = self.chunk_rows(family, planned), 0, 0
        while done < planned:
            count = min(rows, planned - done)
            generator = stream(self.purpose, self.seed, self.item, index, family.origin.device)
            yield family.noise(self.noise, count * family.field.block, generator), generator
            done, index = done + count, index + 1

    def explain(
        self, family: Family, shifts: Tensor, generator: torch.Generator, witness: Witness | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """(n, m) flat maps after n changes, and the model's logits there if classes are wanted."""
        maps, logits = list[Tensor](), list[Tensor]()
        for part in shifts.split(batch_rows(family.field, family.x, self.batch)):
            call = Call.make(family, part, generator, outputs=self.classes)
            if witness is not None:
                witness.see(call)
            maps.append(call.answer.maps.flatten(1))
            if call.answer.logits is not None:
                logits.append(call.answer.logits)
        return _joined(maps), _joined(logits) if self.classes else None


def batch_rows(field: Field, x: Tensor, batch: int | None) -> int:
    """Rows per model call: as asked, or as many as fit; whole blocks always."""
    numbers = _LIGHT_NUMBERS if field.stops_at_layer else _BATCH_NUMBERS
    rows = batch or max(numbers // (x.numel() * field.cost), 1)
    return max(rows // field.block, 1) * field.block


def predicted(logits: Tensor) -> Tensor:
    """(B,) the classes of logits (B, K); minus infinity, a class that is ruled out, is a number like any other."""
    if bool((logits.isnan() | logits.isposinf()).any()):
        raise NonFiniteError("the model's output is NaN or infinite, so it has no class: are its weights intact?")
    return logits.argmax(dim=1)


def check_maps(maps: Tensor, limit: float, offset: int) -> None:
    """Raise for NaN and infinity, naming the draw, and for a draw longer than its claimed limit."""
    lengths = torch.linalg.vector_norm(maps, dim=1)
    finite = torch.isfinite(lengths)
    if not bool(finite.all()):
        first = offset + int((~finite).nonzero()[0])
        raise NonFiniteError(f"the attribution of draw {first} is NaN or infinite: its average would mean nothing")
    longest = int(lengths.argmax())
    if float(lengths[longest]) > limit * (1 + NORM_SLACK):
        raise LimitError(
            f"draw {offset + longest} has norm {float(lengths[longest]):.6g}, above the claimed limit {limit:g}: "
            "the limit does not hold, so nothing can be certified with it"
        )


def _joined(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts)
