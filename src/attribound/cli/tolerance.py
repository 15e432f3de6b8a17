"""`tolerance`: everyday changes of whole data sets."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from attribound.cli import shared
from attribound.cli.app import Data, Model, app
from attribound.cli.certify import carry_out
from attribound.cli.choices import ReferenceName, SizeName, is_forest
from attribound.cli.typos import check_words
from attribound.errors import ArgumentError

if TYPE_CHECKING:
    from attribound.cli.certify import Prepare
    from attribound.tolerances.columns.record import Asked


@app.command()
@shared.spread
def tolerance(
    *,
    out: shared.Out,
    model: Model,
    data: Data,
    change: Annotated[
        list[str] | None,
        typer.Option(
            help="rotation:30, zoom:20%, contrast:2, gamma:2, blur:2, saturation:2 (scanned); brightness:100, "
            "warmth:30, shift:10, shift-x:10, jpeg:10, flip, hidden-word (exact); everyday: a good set; "
            "columns: of a table. Repeat for several. [default: everyday; columns for a forest]"
        ),
    ] = None,
    keep: Annotated[
        str,
        typer.Option(
            help="Forests: what must hold, one of: first (the first reason stays), stays:K (each of the first K stays "
            "among them), top:K (their set stays), sign[:COLUMN], class."
        ),
    ] = "first",
    size: Annotated[
        SizeName,
        typer.Option(
            help="Forests: how changes of several columns add up: l2, each (the largest counts), count (of columns)."
        ),
    ] = "l2",
    scale: Annotated[
        str,
        typer.Option(
            help="Forests: one unit of a column: std, percent (of the cell), or a JSON file of units by name."
        ),
    ] = "std",
    fixed: Annotated[str, typer.Option(help="Forests: columns that do not change, A,B.", show_default=False)] = "",
    whole: Annotated[
        str, typer.Option(help="Forests: columns that take whole numbers only, A,B, or all.", show_default=False)
    ] = "",
    missing: Annotated[
        bool, typer.Option(help="Forests: cells may also become missing or be filled in, for one unit each.")
    ] = False,
    threshold: Annotated[float, typer.Option(help="Forests: the score at which the class changes.")] = 0.0,
    nodes: Annotated[
        int, typer.Option(min=1, help="Forests: boxes that a search may cut; beyond that the answer is a lower bound.")
    ] = 20_000,
    seconds: Annotated[
        float, typer.Option(help="Forests: time that a search may take; beyond that the answer is a lower bound.")
    ] = 60.0,
    explained: shared.Method,
    output: shared.Output = "logit",
    target: shared.Target = None,
    cosine: Annotated[
        list[float] | None, typer.Option(help="The cosine that explanations must keep, in [0, 1) [default: 0.8].")
    ] = None,
    samples: Annotated[int, typer.Option(min=2, help="Draws per scanned change, its pilot included.")] = 4096,
    window: Annotated[
        list[str] | None,
        typer.Option(help="Half-width of the scans' windows: NAME:W in the change's unit, or W for a single one."),
    ] = None,
    reference: Annotated[
        ReferenceName, typer.Option(help="Compare with the map shown (a window's mean) or with the plain one.")
    ] = "shown",
    alpha: Annotated[
        float,
        typer.Option(
            help="Anything said about one input is false with at most this probability; exact changes spend none."
        ),
    ] = 1e-3,
    work: shared.Work,
) -> None:
    """Prove how far inputs may be turned, darkened or shifted before their explanations change; resumes if interrupted.

    Example: attribound tolerance --model mnist-cnn-noise --data mnist-sample --change rotation:30 --change
    brightness:100 --items 5 --out my-run (--data photo.jpg for a single picture)

    For a forest (XGBoost, LightGBM), exactly how far the columns of a table may be off before the first reason
    changes: attribound tolerance --model credit.ubj --data csv:applicants.csv?label=credit --fixed age,sex --out my-run

    Changes that can be listed (whole grey levels, whole pixels, JPEG qualities) are all tried: the answer is exact and
    about the plain map. Other ranges are scanned: the answer is about the mean of the maps over a window, and is false
    with probability at most alpha. Nothing is said about any other change. Then: attribound show, report, export,
    verify, gate --change, compare.
    """
    check_words(attribution=explained.attribution or "", maps=explained.maps or (), data=[data], model=model)
    from attribound.runs import RunConfig

    changes = tuple(one.strip() for one in change or ("columns" if is_forest(model) else "everyday",))
    options: dict[str, Any] = {"keep": keep, "size": size, "scale": scale, "missing": missing}
    options |= {"fixed": fixed, "whole": whole, "threshold": threshold, "boxes": nodes, "seconds": seconds}
    method = explained.of(model)
    columns = _asked(changes, method["attribution"], options)
    config = RunConfig(
        model=model,
        data=data,
        output=output,
        noise="",
        changes=changes,
        columns=columns,
        windows=_windows(window or []),
        against=reference,
        target=target,
        samples=samples,
        alpha=alpha,
        epsilons=(),
        cosines=tuple(dict.fromkeys(cosine or (0.8,))),
        **method,
        **work.settings,
    )
    carry_out(config, out, work, _prepare(columns))


def _prepare(columns: "Asked | None") -> "Prepare":
    """What makes the run's job."""
    if columns is not None:
        from attribound.runs.columns_setup import prepare_columns

        return prepare_columns
    from attribound.runs.tolerance_setup import prepare_tolerances

    return prepare_tolerances


def _asked(changes: tuple[str, ...], method: str, options: dict[str, Any]) -> "Asked | None":
    """What is asked about columns; None if nothing is."""
    if "columns" not in changes:
        return None
    if len(changes) > 1:
        raise ArgumentError(f"expected --change columns alone, got it with {len(changes) - 1} other(s)")
    if method != "treeshap":
        raise ArgumentError(f"expected --attribution treeshap with --change columns, got {method!r}")
    from attribound.tolerances.columns.record import Asked

    return Asked(**options | {name: _names(options[name]) for name in ("fixed", "whole")})


def _names(typed: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in typed.split(",") if name.strip())


def _windows(typed: list[str]) -> dict[str, float]:
    """Windows by the name of the change; "" for the only one."""
    windows: dict[str, float] = {}
    for text in typed:
        name, _, number = text.rpartition(":")
        try:
            windows[name] = float(number)
        except ValueError:
            raise ArgumentError(f"expected --window NAME:W or W, such as rotation:2, got {text!r}") from None
    if "" in windows and len(windows) > 1:
        raise ArgumentError(f"expected --window by name for several changes, such as rotation:2, got {windows['']:g}")
    return windows
