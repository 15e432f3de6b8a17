"""`tolerance`: the public edge, where arguments are checked once."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from attribound import forests
from attribound.certification.arguments import AskedTarget, check_field, check_input, with_precision
from attribound.certification.given import Transform, given
from attribound.changes.base import Change
from attribound.changes.registry import make_changes
from attribound.errors import ArgumentError
from attribound.fields.base import Field, Model
from attribound.fields.precision import as_said
from attribound.forests import TreeShap
from attribound.sampling.scan import Progress
from attribound.tolerances.asker import Asker, Reference, Window
from attribound.tolerances.sheet import Sheet


def tolerance(
    field: Field | Model,
    x: Any,
    changes: Change | str | Sequence[Change | str] = "everyday",
    *,
    cosine: float | Sequence[float] = 0.8,
    target: AskedTarget = None,
    method: str | None = None,
    transform: Transform | None = None,
    samples: int = 4096,
    alpha: float = 1e-3,
    seed: int | None = None,
    item: int = 0,
    window: Window = None,
    reference: Reference = "shown",
    batch: int | None = None,
    precision: str | None = None,
    progress: Progress | None = None,
    **columns: Any,
) -> Any:
    """How far an input may change before its explanation does: a proved interval for each change.

    With probability at least 1 - alpha everything that the sheet says is true (docs/theory/scan.md).

    Args:
        field: a bounded attribution, e.g. `Unit(GradCAM(model))`; or a model, with `method`.
        x: one input: a tensor or array, a picture file, an opened picture.
        changes: changes or specs such as "rotation:30"; "everyday" is a good set for pictures.
        cosine: one or several in [0, 1): how alike maps must stay.
        target: class to explain, by number or name; None: predicted.
        method: of a model given as `field`, e.g. "gradcam"; its maps are scaled to length 1 (`Unit`).
        transform: makes a tensor of a picture, in place of our own reading.
        samples: draws for each scanned change, its pilot included.
        alpha: failure probability of the whole sheet; exact changes spend none.
        seed: of the draws; None: follows from the input.
        item: number of the input; draws depend on (seed, item, change).
        window: half-width of windows in the change's unit, for one scanned change or by name; None: range / 8.
        reference: scanned maps are compared with the map "shown" (the mean at no change) or the "plain" one.
        batch: most rows per model call; None sizes it automatically.
        precision: of the model, "float32" or "bfloat16"; None: as the field says.
        progress: called with (draws done, draws planned) for each scanned change.
        columns: for `TreeShap` and "columns": keep, size, scale and so on, see `attribound.forests.tolerance`.
    """
    if isinstance(field, TreeShap):
        return _of_columns(field, x, changes, **columns)
    field, x = given(field, x, method, transform)
    made = make_changes(changes, x := _input(field, x, columns))
    asked: dict[str, Any] = {"cosine": cosine, "window": window, "reference": reference, "batch": batch}
    asker = Asker(with_precision(check_field(field), precision), made, samples=samples, alpha=alpha, **asked)
    return _sheet(asker, x, target, progress, seed=seed, item=item)


def _sheet(asker: Asker, x: Tensor, target: AskedTarget, progress: Progress | None, **which: Any) -> Sheet:
    """Every change asked about one input; `which`: its seed and its number."""
    with as_said(x):
        about = asker.look(x, target, **which)
        return Sheet({name: asker.ask(name, about, progress) for name in asker.changes}, asker.alpha, about.familiar)


def _input(field: Field, x: Any, columns: dict[str, Any]) -> Tensor:
    """The input, if nothing was asked that is for trees."""
    if columns:
        raise ArgumentError(f"expected no {', '.join(columns)} for {type(field).__name__}: they are for trees")
    return check_input(x)


def _of_columns(explainer: TreeShap, row: Any, changes: Any, **columns: Any) -> forests.Sheet:
    """The exact sheet of a forest's columns."""
    if changes not in ("columns", "everyday"):
        raise ArgumentError(f"expected changes 'columns' for a forest, got {changes!r}")
    return forests.tolerance(explainer, row, **columns)
