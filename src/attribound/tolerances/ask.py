"""`tolerance`: the public edge, where arguments are checked once."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from attribound import forests
from attribound.certification.arguments import AskedTarget, check_field, check_input, with_precision
from attribound.changes.base import Change
from attribound.changes.registry import make_changes
from attribound.errors import ArgumentError
from attribound.fields.base import Field
from attribound.forests import TreeShap
from attribound.sampling.scan import Progress
from attribound.tolerances.asker import Asker, Reference, Window
from attribound.tolerances.sheet import Sheet


def tolerance(
    field: Field,
    x: Tensor,
    changes: Change | str | Sequence[Change | str] = "everyday",
    *,
    cosine: float | Sequence[float] = 0.8,
    target: AskedTarget = None,
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
        field: a bounded attribution, e.g. `Unit(GradCAM(model))`.
        x: one input.
        changes: changes or specs such as "rotation:30"; "everyday" is a good set for pictures.
        cosine: one or several in [0, 1): how alike maps must stay.
        target: class to explain, by number or name; None: the predicted class.
        samples: draws for each scanned change, its pilot included.
        alpha: failure probability of the whole sheet; exact changes spend none.
        seed: of the draws; None: one that follows from the input.
        item: number of the input; draws depend on (seed, item, change).
        window: half-width of the windows in the change's unit, one number for one scanned change or by name; None: an
            eighth of the range.
        reference: what maps of scanned changes are compared with: the map "shown", a mean over the window at no change,
            or the "plain" map. Exact changes are about the plain map.
        batch: most rows per model call; None sizes it automatically.
        precision: run the model in "float32" (as it is) or "bfloat16"; the sheet is about its maps then. None: as the
            field says.
        progress: called with (draws done, draws planned) for each scanned change.
        columns: of a forest's `TreeShap` and changes "columns": keep, size, scale, fixed and so on, as
            `attribound.forests.tolerance` has them; the answer is its sheet, exact.
    """
    if isinstance(field, TreeShap):
        return _of_columns(field, x, changes, **columns)
    if columns:
        raise ArgumentError(f"expected no {', '.join(columns)} for {type(field).__name__}: they are for trees")
    x = check_input(x)
    made = make_changes(changes, x)
    asker = Asker(
        with_precision(check_field(field), precision),
        made,
        cosine=cosine,
        samples=samples,
        alpha=alpha,
        window=window,
        reference=reference,
        batch=batch,
    )
    about = asker.look(x, target, seed=seed, item=item)
    return Sheet({change.name: asker.ask(change.name, about, progress) for change in made}, asker.alpha, about.plain)


def _of_columns(explainer: TreeShap, row: Any, changes: Any, **columns: Any) -> forests.Sheet:
    """The exact sheet of a forest's columns."""
    if changes not in ("columns", "everyday"):
        raise ArgumentError(f"expected changes 'columns' for a forest, got {changes!r}")
    return forests.tolerance(explainer, row, **columns)
