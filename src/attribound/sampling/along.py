"""One input along one change: from parameters to bounded maps in the frame of the input."""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from attribound.changes.base import Change
from attribound.errors import ArgumentError, FieldError, NonFiniteError
from attribound.fields.base import forward
from attribound.fields.bounded import Bounded
from attribound.sampling.draws import batch_rows, check_maps, predicted


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
class Along:
    """The family of maps that a change makes from an input.

    Attributes:
        field: the bounded attribution.
        change: what happens to the input.
        x: the input.
        target: the class that is explained.
        batch: most rows per model call; None sizes it by the input.
    """

    field: Bounded
    change: Change
    x: Tensor
    target: int
    batch: int | None = None

    def look(self, t: Tensor, generator: torch.Generator) -> Seen:
        """The maps at parameters (B,) or (B, k); a random field has fresh randomness at each.

        Maps are brought back below the limit, so that the limit holds after it.
        """
        rows = max(batch_rows(self.field, self.x, self.batch) // self.field.block, 1)
        parts = [self._part(part, generator) for part in t.split(rows)]
        return Seen(torch.cat([part.maps for part in parts]), torch.cat([part.classes for part in parts]))

    def inputs(self, t: Tensor) -> Tensor:
        """The changed inputs (B, ...), checked."""
        points = self.change.apply(self.x, t)
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

    def _part(self, t: Tensor, generator: torch.Generator) -> Seen:
        block = self.field.block
        points, every = self.inputs(t).repeat_interleave(block, dim=0), t.repeat_interleave(block, dim=0)
        with torch.enable_grad():
            plain = self.field.base.explain(points, self.target, generator=generator)
        maps = self.change.back(plain.maps.detach(), every, self.x.shape)
        if maps.shape != plain.maps.shape:
            raise FieldError(f"expected {self.change.name} to keep the shape of the maps it brings back")
        bounded = self.field.change(maps).flatten(1).cpu()
        check_maps(bounded, self.field.limit, 0)
        logits = plain.logits
        if logits is None:
            with torch.no_grad():
                logits = forward(self.field.model, points)
        return Seen(bounded.view(len(t), block, -1).mean(dim=1), predicted(logits)[::block].cpu())
