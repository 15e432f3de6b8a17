"""`report`: a run as one page."""

from pathlib import Path
from typing import Annotated

import typer

from attribound.cli.app import Json, Run, answer, app
from attribound.cli.choices import Audience, PageForm
from attribound.errors import ArgumentError


@app.command()
def report(
    run: Run,
    out: Annotated[
        Path | None, typer.Option(help="File to write. Default: report.html (or audit.html) in the run.")
    ] = None,
    scan: Annotated[
        Path | None,
        typer.Option(help="JSON file from `attribound tune --out`: adds the trade-off between noise levels."),
    ] = None,
    audience: Annotated[
        Audience, typer.Option(help="everyone: a page to explore; auditor: a page to print, sign and archive.")
    ] = "everyone",
    kind: Annotated[PageForm, typer.Option("--format", help="pdf needs Chromium.")] = "html",
    by: Annotated[str, typer.Option(help="Who is responsible for the auditor's report.")] = "",
    as_json: Json = False,
) -> None:
    """Write one HTML file that says how far explanations can be bent, for which inputs, and how we know.

    For tolerances: how far pictures may change, with a film strip of every change. For forests: for how many rows the
    reasons hold, with a letter for each.

    Example: attribound report my-run, or attribound report my-run --audience auditor --format pdf --by "A. Name"

    The file opens from disk, needs no network and can be mailed. The run may still be running.
    """
    from attribound.files import write_whole
    from attribound.report.auditor import page as auditor
    from attribound.report.page import render
    from attribound.report.shared import printing
    from attribound.report.shared.collect import read_scan
    from attribound.runs import Store

    auditing = audience == "auditor"
    if auditing and scan is not None:
        raise ArgumentError(
            "expected --scan without --audience auditor: noise levels that were looked at prove nothing"
        )
    if by and not auditing:
        raise ArgumentError("expected --by with --audience auditor")
    if kind == "pdf":
        printing.find_browser()
    given = None if scan is None else read_scan(scan)
    with Store.read_any(run) as store:
        if store.config.kind != "certify":
            _check_tolerances(run, auditing, scan)
        text = auditor.render(store, by) if auditing else render(store, given)
    target = out or run / f"{'audit' if auditing else 'report'}.{kind}"
    written = printing.print_pdf(text, target) if kind == "pdf" else write_whole(target, text)
    size = written.stat().st_size
    line = f"wrote {written} ({size / 1e6:.1f} MB)" if size >= 1e6 else f"wrote {written} ({size / 1e3:.0f} kB)"
    line += ": open it in a browser" if kind == "html" else ""
    answer({"out": str(written), "bytes": size}, as_json, lambda: print(line))


def _check_tolerances(run: Path, auditing: bool, scan: Path | None) -> None:
    """Raise if something is asked of tolerances that only certificates have."""
    if auditing:
        raise ArgumentError(
            f"{run} is a run of tolerances, and the auditor's report is about certificates: `attribound report {run}` "
            "makes the page of tolerances, `attribound verify` checks them"
        )
    if scan is not None:
        raise ArgumentError(f"{run} is a run of tolerances: expected no --scan, which is about noise")
