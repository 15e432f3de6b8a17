"""Rows that do not see each other: every bound needs independent draws, so this is checked before anything is sampled.

The sampling itself goes on checking (sampling/witness.py). What neither can see: docs/theory/confidence.md.
"""

from typing import TypeVar, final

import torch
from torch import Tensor, nn

from attribound.errors import FieldError
from attribound.fields.base import Explanation, Field, Model, Target, Wrapper, forward, innermost
from attribound.fields.exchange import Call, Seen, refuse
from attribound.fields.families import SIDES, Family
from attribound.fields.integrated import IntegratedGradients
from attribound.fields.precision import in_precision
from attribound.fields.saliency import Saliency

_TOLERANCE = {torch.float64: 1e-8, torch.float32: 1e-2, torch.float16: 5e-2, torch.bfloat16: 5e-2}
"""Differences between batches of different shapes that rounding may explain, relative to each row's own size."""
_ROWS = 6
"""Noisy copies of the input on which rows are checked to be independent."""
_CALLS = (2, 16)
"""Calls in which equal rows are compared, and how many more if they never differ."""

A = TypeVar("A", bound=Family)
F = TypeVar("F", bound=Field)


def check_evaluating(model: Model) -> None:
    """Raise if dropout or batch norm is in training mode: rows would no longer be independent draws."""
    if not isinstance(model, nn.Module):
        return
    for name, module in model.named_modules():
        kind = getattr(module, "original_name", type(module).__name__)  # scripted modules keep their name only
        batch_norm = isinstance(module, nn.modules.batchnorm._BatchNorm) or "BatchNorm" in kind
        dropout = isinstance(module, nn.modules.dropout._DropoutNd) or "Dropout" in kind
        if module.training and (batch_norm or dropout):
            raise FieldError(f"expected a model in evaluation mode: call model.eval() (module {name!r} is training)")
        if batch_norm and getattr(module, "running_mean", None) is None:
            raise FieldError(f"expected rows that do not see each other: module {name!r} normalises over the batch")


def independent(family: A, shifts: Tensor, generator: torch.Generator) -> A:
    """The family itself if its maps may be computed in batches, else the same family row by row.

    Two probes. Each row alone is compared with the same row in a batch, coarsely, since kernels differ with the shape:
    the outputs, and the maps of the method itself. Then rows are exchanged around others, which must stay equal to the
    bit: outputs, and final maps. Random methods have no two maps alike, so alone the model's gradients are compared in
    their place, if the method needs any; in the exchange every row has the same randomness again.

    Args:
        family: the maps.
        shifts: noise on its parameters, `probe_rows(family.field)` draws.
        generator: of the field's randomness.
    """
    field, target = family.field, family.target
    # As many on the other side, far away: unlike company for every row.
    near, nobody = shifts[:_ROWS], torch.arange(0, device=shifts.device)
    points = family.inputs(torch.cat([near, family.exchanged(near, nobody, "reversed")]))
    _check_outputs_alone(field, points)
    if field.random:
        _check_own_randomness(family, len(shifts), generator)
    seen = _exchanged(family, shifts, generator)
    if seen not in ("same", "maps"):
        refuse(field, seen)
    method = _comparable(field)
    if seen == "same" and (method is None or _same_maps(method, points, target)):
        return family
    slow = family.over(_row_by_row(field))
    refuse(field, _exchanged(slow, shifts, generator))
    return slow


def _comparable(field: Field) -> Field | None:
    """What is compared alone and in a batch: the method; the gradients that a random one uses; None: it uses none."""
    if not field.random:
        return in_precision(innermost(field), field.precision)
    return Saliency(field.model, field.output) if field.needs_gradients else None


def probe_rows(field: Field) -> int:
    """How many noisy copies `independent` needs: whole blocks, and two at least."""
    return max(-(-_ROWS // field.block), 2) * field.block


def _check_outputs_alone(field: Field, points: Tensor) -> None:
    model = field.model
    with torch.no_grad():
        together = forward(model, points)
        alone = torch.cat([forward(model, point[None]) for point in points])
    # An offset common to all classes says nothing, and may hide everything.
    first, second = (values - values.mean(dim=1, keepdim=True) for values in (together, alone))
    if not _alike(first, second, _tolerance(field, together)):
        raise FieldError(
            "expected a model whose answer for an input is always the same, whatever else is in the batch: "
            "its output for the same input changes with the batch around it or from call to call, so its attributions "
            "are not independent draws"
        )


def _check_own_randomness(family: Family, rows: int, generator: torch.Generator) -> None:
    """Raise if equal rows of a batch get equal maps, and another batch gets others: one chance for all rows."""
    field, equal = family.field, family.origin.expand(rows, *family.origin.shape)
    calls = list[Tensor]()
    for count in _CALLS:  # a path that crosses one kink gives few different maps, which may agree by chance
        calls += [Call.make(family, equal, generator, outputs=False).answer.maps for _ in range(count)]
        blocks = [maps.flatten(1).unflatten(0, (-1, field.block)) for maps in calls]
        if all(torch.equal(maps, calls[0]) for maps in calls) or not all(
            bool((one == one[:1]).all()) for one in blocks
        ):
            break
    else:
        raise FieldError(
            f"expected fresh randomness for every row: {field.name} shares its random numbers within a batch, so its "
            "attributions are not independent draws"
        )


def _exchanged(family: Family, shifts: Tensor, generator: torch.Generator) -> Seen:
    """Every row stays once and is exchanged once at least, and the others go to every side."""
    call = Call.make(family, shifts, generator, outputs=True)
    rows = torch.arange(len(shifts), device=shifts.device)
    for number, side in enumerate(SIDES):
        seen = call.exchange(rows[rows % 2 == number % 2], side)
        if seen != "same":
            return seen
    return "same"


def _same_maps(field: Field, points: Tensor, target: Target) -> bool:
    with torch.enable_grad():
        together = field.attribute(points, target).detach()
        alone = torch.cat([field.attribute(point[None], target).detach() for point in points])
    return _alike(together, alone, _tolerance(field, points))


def _tolerance(field: Field, like: Tensor) -> float:
    """What rounding may explain: that of the values, or that of the model's own precision."""
    rounded = field.precision != "float32"
    return max(_TOLERANCE[like.dtype], _TOLERANCE[torch.bfloat16] if rounded else 0.0)


def _alike(together: Tensor, alone: Tensor, tolerance: float) -> bool:
    """Whether rows agree up to rounding; rows without any size agree, and so do rows that are NaN or infinite alike."""
    first, second = together.flatten(1).double(), alone.flatten(1).double()
    if not torch.equal(first.isfinite(), second.isfinite()):
        return False
    first, second = (part.nan_to_num(0.0, 0.0, 0.0) for part in (first, second))
    size = torch.maximum(first.abs().amax(dim=1, keepdim=True), second.abs().amax(dim=1, keepdim=True))
    size = torch.where(size == 0, 1.0, size)
    return bool(((first - second) / size).norm(dim=1).le(tolerance * (first / size).norm(dim=1)).all())


def _row_by_row(field: F) -> F:
    """The field with its innermost method computed one row at a time, or, where rows come in blocks, one point."""
    if isinstance(field, Wrapper):
        return field.around(_row_by_row(field.base))
    if field.block == 1:
        return RowByRow(field)  # type: ignore[return-value]
    if not isinstance(field, IntegratedGradients):
        raise FieldError(
            f"expected gradients of one input that do not change with the batch around it: {field.name} draws blocks "
            f"of {field.block} rows, so they would not be independent"
        )
    return field.one_by_one()  # type: ignore[return-value]


@final
class RowByRow(Wrapper):
    """A field whose rows see each other in a batch, asked one row at a time."""

    def __init__(self, base: Field) -> None:
        super().__init__(base)
        self.stated = base.stated

    def explain(
        self, inputs: Tensor, target: Target, *, generator: torch.Generator | None = None, create_graph: bool = False
    ) -> Explanation:
        """The maps of each row alone."""
        targets = torch.as_tensor(target).expand(len(inputs)).tolist()
        parts = [
            self.base.explain(row[None], one, generator=generator, create_graph=create_graph)
            for row, one in zip(inputs, targets, strict=True)
        ]
        logits = [part.logits for part in parts if part.logits is not None]
        maps = torch.cat([part.maps for part in parts])
        return Explanation(maps, torch.cat(logits) if len(logits) == len(parts) else None)
