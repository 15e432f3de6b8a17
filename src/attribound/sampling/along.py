"""One input along one change: from parameters to bounded maps in the frame of the input."""

from dataclasses import dataclass, replace
from typing import final

import torch
from torch import Tensor

from attribound.bounds.budgets import Budget
from attribound.bounds.facts import Fact
from attribound.changes.base import Change
from attribound.changes.together import Together
from attribound.errors import ArgumentError, FieldError, NonFiniteError
from attribound.fields.base import Explanation, Field
from attribound.fields.bounded import Bounded, bounded
from attribound.fields.exchange import Call
from attribound.fields.families import Around, Family, Side
from attribound.noise import Noise
from attribound.sampling.draws import batch_rows, check_maps, predicted
from attribound.sampling.witness import Witness


@final
@dataclass(frozen=True)
class Seen:
    """What the model and the field say at some parameters.

    Attributes:
        maps: (B, m) bounded maps in the frame of the input, float64 on the processor.
        classes: (B,) the model's classes.
    """

    maps: Tensor
    classes: Tensor


@final
@dataclass(frozen=True)
class Along(Family):
    """The family of maps that a change makes from an input.

    Maps are brought back below the limit, so that the limit holds after it.

    Attributes:
        field: the bounded attribution.
        change: what happens to the input.
        x: the input.
        target: the class that is explained.
        batch: most rows per model call; None sizes it by the input.
        start: the parameters of the origin; None: no change.
    """

    field: Bounded
    change: Change
    x: Tensor
    target: int
    batch: int | None = None
    start: Tensor | None = None

    def __post_init__(self) -> None:
        if self.change.brings_back and not self.change.moves:
            raise ArgumentError(f"expected `moves = True` of {self.change.name}, which brings maps back")
        if self.change.moves and self.field.kind not in ("unit", "clip"):
            raise FieldError(
                f"expected Unit or Clip for {self.change.name}, which moves things: a limit that is {self.field.kind} "
                "for the map says nothing about the map brought back"
            )

    @property
    def origin(self) -> Tensor:
        """One number per parameter, float64."""
        return torch.zeros(self.change.dimensions, dtype=torch.float64, device=self.x.device)

    @property
    def shift(self) -> Tensor:
        """The parameters of the origin."""
        return self.origin if self.start is None else self.start.double()

    def at(self, t: Tensor) -> "Along":
        """The same changes, counted from another parameter."""
        return replace(self, start=self.shift + t.double())

    @property
    def stated(self) -> tuple[Fact, ...]:
        """Nothing: what is stated about slopes in the input does not hold for slopes in the parameters."""
        return ()

    @property
    def versions(self) -> dict[str, str]:
        """The change's."""
        return self.change.versions

    def budget(self, noise: Noise) -> Budget:
        """Amounts of the changes, each in its own unit."""
        if noise.budget.units is not None:
            raise ArgumentError("expected noise without `scale`: the amounts of the changes are the units")
        return Budget(changes=self.change.specs if isinstance(self.change, Together) else (self.change.spec,))

    def over(self, field: Field) -> "Along":
        """The same change of the same input."""
        return replace(self, field=bounded(field))

    def inputs(self, t: Tensor) -> Tensor:
        """The changed inputs (B, ...), checked."""
        points = self.change.apply(self.x.clone(), self._placed(t))  # one that writes to its input has its own
        if points.shape != (len(t), *self.x.shape):
            raise ArgumentError(
                f"expected {self.change.name} to keep the input's shape {tuple(self.x.shape)}, "
                f"got {tuple(points.shape[1:])}"
            )
        finite = points.flatten(1).isfinite().all(dim=1)
        if not bool(finite.all()):
            first = t[int((~finite).nonzero()[0])].tolist()
            raise NonFiniteError(f"the change {self.change.name} made NaN or infinite values at {first}")
        return points

    def explain(
        self, t: Tensor, *, generator: torch.Generator | None = None, create_graph: bool = False, outputs: bool = False
    ) -> Explanation:
        """Maps of changed inputs, brought back, then brought within the limit."""
        points, placed = self.inputs(t), self._placed(t)
        plain = self.change.explain(
            self.field.base, points.clone(), placed, self.target, generator=generator, create_graph=create_graph
        )
        maps = self.change.back(plain.maps, placed, self.x.shape)
        if maps.shape != plain.maps.shape:
            raise FieldError(f"expected {self.change.name} to keep the shape of the maps it brings back")
        return Explanation(self.field.change(maps), self.outputs(points, plain) if outputs else plain.logits)

    def exchanged(self, shifts: Tensor, kept: Tensor, side: Side) -> Tensor:
        """The other rows take each other's parameters: every one of them is allowed."""
        turned = shifts.flip(0) if side == "reversed" else shifts.roll(1 if side == "above" else -1, 0)
        turned = turned.clone()
        turned[kept] = shifts[kept]
        return turned

    def look(self, t: Tensor, generator: torch.Generator, witness: Witness | None = None) -> Seen:
        """The maps at parameters (B,) or (B, k); a random field has fresh randomness at each."""
        block = self.field.block
        rows = max(batch_rows(self.field, self.x, self.batch) // block, 1)
        parts = [self._part(part.repeat_interleave(block, dim=0), generator, witness) for part in t.split(rows)]
        return Seen(torch.cat([part.maps for part in parts]), torch.cat([part.classes for part in parts]))

    def _part(self, t: Tensor, generator: torch.Generator, witness: Witness | None) -> Seen:
        call = Call.make(self, t, generator, outputs=True)
        if witness is not None:
            witness.see(call)
        maps, logits = call.answer.maps.flatten(1).cpu(), call.answer.logits
        assert logits is not None
        check_maps(maps, self.field.limit, 0)
        block = self.field.block
        return Seen(maps.view(len(t) // block, block, -1).mean(dim=1), predicted(logits)[::block].cpu())

    def _placed(self, t: Tensor) -> Tensor:
        """Parameters as the change takes them: (B,) if it has one."""
        moved = t if self.start is None else t + self.start.view(-1) if t.ndim > 1 else t + self.start.view(())
        return moved[:, 0] if moved.ndim == 2 and self.change.dimensions == 1 else moved


def family_of(
    field: Bounded, target: int, x: Tensor, changes: Together | None, batch: int | None = None
) -> Around | Along:
    """The maps of an input: around it, or after combinations of changes, which must fit it."""
    if changes is None:
        return Around(field, target, x)
    changes.check(x)
    return Along(field, changes, x, target, batch)
