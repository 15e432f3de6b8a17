"""`tolerance`: the public edge, where arguments are checked once."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from attribound import checks as check
from attribound.certification.arguments import (
    AskedTarget,
    check_field,
    check_input,
    check_target,
    class_names,
    look_at,
    with_precision,
)
from attribound.changes.base import Change, Continuous
from attribound.changes.registry import make_changes
from attribound.errors import ArgumentError
from attribound.fields.base import Field
from attribound.fields.bounded import Bounded
from attribound.fields.rows import independent, probe_rows
from attribound.hashes import input_bytes
from attribound.randomness import Purpose, seed_from, stream
from attribound.sampling.along import Along
from attribound.sampling.scan import Progress, Scan
from attribound.tolerances.answer import Tolerance
from attribound.tolerances.exact import exact_tolerance
from attribound.tolerances.scanned import Question, checked_window, default_window, scanned_tolerance
from attribound.tolerances.sheet import Sheet

Reference = Literal["shown", "plain"]
Window = float | Mapping[str, float] | None


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
) -> Sheet:
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
    """
    bounded, x = with_precision(check_field(field), precision), check_input(x)
    asked, level = _cosines(cosine), float(check.alpha(alpha))
    if reference not in ("shown", "plain"):
        raise ArgumentError(f"expected `reference` 'shown' or 'plain', got {reference!r}")
    count = int(check.count("samples", samples))
    number = seed_from(input_bytes(x)) if seed is None else check.whole("seed", seed)
    item = check.whole("item", item)
    made = make_changes(changes, x)
    windows = _windows(made, window)
    peek = look_at(bounded.model, x)
    chosen = peek.prediction if target is None else check_target(target, peek.classes, class_names(bounded.model))
    bounded = _independent(bounded, x, chosen, made)
    plain = _plain(bounded, x, chosen, number, item)
    share = level / max(len(windows), 1)
    answers: dict[str, Tolerance] = {}
    for change in made:
        along = Along(bounded, change, x, chosen, None if batch is None else int(check.count("batch", batch)))
        if isinstance(change, Continuous):
            scan = Scan(along, count, windows[change.name], peek.prediction, number, item)
            answers[change.name] = scanned_tolerance(scan, Question(asked, share, reference, plain), progress)
        else:
            answers[change.name] = exact_tolerance(along, plain=plain, label=peek.prediction, cosines=asked)
    return Sheet(answers, level, chosen, peek.prediction, plain, _method(bounded), number)


def _method(field: Bounded) -> str:
    """How maps are made, for people."""
    return field.name if field.precision == "float32" else f"{field.name} in {field.precision}"


def _cosines(cosine: Any) -> tuple[float, ...]:
    """The cosines asked, each once, in [0, 1)."""
    given = cosine if isinstance(cosine, Sequence) and not isinstance(cosine, str) else [cosine]
    asked = tuple(dict.fromkeys(float(check.fraction("cosine", one)) for one in given))
    if not asked or 1.0 in asked:
        raise ArgumentError(f"expected `cosine` in [0, 1), got {cosine}")
    return asked


def _windows(changes: Sequence[Change], window: Window) -> dict[str, float]:
    """The window of every scanned change, as a parameter."""
    scanned = {change.name: change for change in changes if isinstance(change, Continuous)}
    if window is None:
        return {name: default_window(change) for name, change in scanned.items()}
    if isinstance(window, Mapping):
        strange = next((name for name in window if name not in scanned), None)
        if strange is not None:
            raise ArgumentError(f"expected windows of scanned changes ({', '.join(scanned)}), got {strange!r}")
        given = dict(window)
    elif len(scanned) == 1:
        given = {next(iter(scanned)): window}
    else:
        raise ArgumentError(f"expected `window` by name for {len(scanned)} scanned changes, e.g. {{'rotation': 2}}")
    return {
        name: _window(change, given[name]) if name in given else default_window(change)
        for name, change in scanned.items()
    }


def _window(change: Continuous, shown: float) -> float:
    parameter = checked_window(change, float(check.positive("window", shown)))
    if math.isnan(parameter):
        raise ArgumentError(
            f"expected a `window` no wider than the range of {change.spec}, got {shown:g} {change.unit}"
        )
    return parameter


def _independent(field: Bounded, x: Tensor, target: int, changes: Sequence[Change]) -> Bounded:
    """The field, if rows do not see each other; else the same field row by row."""
    for change in changes:
        along, count = Along(field, change, x, target), probe_rows(field)
        if isinstance(change, Continuous):
            t = torch.linspace(0, change.high, count, dtype=torch.float64)
        else:
            t = change.alternatives(x)[:count]  # type: ignore[attr-defined]
        field = independent(along, t, stream(Purpose.PROBE, 0, device=x.device)).field
    return field


def _plain(field: Bounded, x: Tensor, target: int, seed: int, item: int) -> Tensor:
    """The plain map on the processor; of a random method, its mean over one block."""
    generator = stream(Purpose.PROBE, seed, item, 1, x.device)
    with torch.enable_grad():
        maps = field.attribute(x.expand(field.block, *x.shape), target, generator=generator).detach()
    check.dimension(maps[0].numel(), "the map's size")
    return maps.mean(dim=0).cpu()
