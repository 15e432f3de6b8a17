"""Rows that do not see each other: every bound needs independent draws, so this is checked before anything is sampled.

A model that mixes rows in ways that do not show in the probe remains the user's responsibility.
"""

from typing import TypeVar, final

import torch
from torch import Tensor, nn

from attribound.errors import FieldError
from attribound.fields.base import Explanation, Field, Model, Target, Wrapper, forward, innermost
from attribound.fields.saliency import Saliency

_TOLERANCE = {torch.float64: 1e-8, torch.float32: 1e-2, torch.float16: 5e-2, torch.bfloat16: 5e-2}
"""Differences that rounding explains, relative to each row's own size."""

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


def independent(field: F, points: Tensor, target: Target) -> F:
    """The field itself if its maps may be computed in batches, else the same field row by row.

    Each row alone is compared with the same row in a batch, relative to each row's own size: the outputs, and the maps
    of the method itself, before a limit or a shape hides how they differ. Random methods have no two maps alike, so
    the model's gradients are compared in their place.

    Args:
        field: the attribution.
        points: (B, ...) a few noisy inputs.
        target: the class that is explained.
    """
    with torch.no_grad():
        together = forward(field.model, points)
        alone = torch.cat([forward(field.model, point[None]) for point in points])
    # An offset common to all classes says nothing, and may hide everything.
    if not _alike(together - together.mean(dim=1, keepdim=True), alone - alone.mean(dim=1, keepdim=True), together):
        raise FieldError(
            "expected a model that maps each input by itself and always alike: its output for the same input changes "
            "with the batch around it or from call to call, so its attributions are not independent draws"
        )
    method = Saliency(field.model, field.output) if field.random else innermost(field)
    if _same_maps(method, points, target):
        return field
    if field.block > 1:
        raise FieldError(
            f"expected gradients of one input that do not change with the batch around it: {field.name} draws blocks "
            f"of {field.block} rows, so they would not be independent"
        )
    return _row_by_row(field)


def probes(x: Tensor, near: Tensor) -> Tensor:
    """Noisy copies of x, and as many on the other side at three times the distance: unlike company for every row."""
    return torch.cat([near, x - 3 * (near - x)])


def _same_maps(field: Field, points: Tensor, target: Target) -> bool:
    with torch.enable_grad():
        together = field.attribute(points, target).detach()
        alone = torch.cat([field.attribute(point[None], target).detach() for point in points])
    return _alike(together, alone, points)


def _alike(together: Tensor, alone: Tensor, like: Tensor) -> bool:
    """Whether rows agree up to rounding; rows without any size agree, and so do rows that are NaN or infinite alike."""
    first, second = together.flatten(1).double(), alone.flatten(1).double()
    if not torch.equal(first.isfinite(), second.isfinite()):
        return False
    first, second = (part.nan_to_num(0.0, 0.0, 0.0) for part in (first, second))
    size = torch.maximum(first.abs().amax(dim=1, keepdim=True), second.abs().amax(dim=1, keepdim=True))
    size = torch.where(size == 0, 1.0, size)
    return bool(((first - second) / size).norm(dim=1).le(_TOLERANCE[like.dtype] * (first / size).norm(dim=1)).all())


def _row_by_row(field: F) -> F:
    """The field with its innermost method computed one row at a time."""
    if isinstance(field, Wrapper):
        return field.around(_row_by_row(field.base))  # type: ignore[return-value]
    return RowByRow(field)  # type: ignore[return-value]


@final
class RowByRow(Wrapper):
    """A field whose rows see each other in a batch, asked one row at a time."""

    def __init__(self, base: Field) -> None:
        super().__init__(base)
        self.stated = base.stated

    def around(self, base: Field) -> "RowByRow":
        """Another field, row by row."""
        return RowByRow(base)

    def explain(
        self,
        inputs: Tensor,
        target: Target,
        *,
        generator: torch.Generator | None = None,
        create_graph: bool = False,
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
