"""`report`: a run as one page."""

from pathlib import Path
from typing import Annotated

import typer

from attribound.cli.app import Json, Run, answer, app


@app.command()
def report(
    run: Run,
    out: Annotated[Path | None, typer.Option(help="The HTML file; default: report.html in the run.")] = None,
    scan: Annotated[
        Path | None, typer.Option(help="JSON file of `attribound tune --out`: adds the noise level trade-off.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write one HTML file that says how far explanations can be bent, for which inputs, and how we know.

    Example: attribound report my-run

    The file opens from disk, loads nothing from anywhere and can be mailed. A run may be reported while it is running.
    """
    from attribound.report.collect import read_scan
    from attribound.report.page import write_report

    written = write_report(run, out, scan=None if scan is None else read_scan(scan))
    size = written.stat().st_size
    line = f"wrote {written} ({size / 1e6:.1f} MB): open it in a browser"
    answer({"out": str(written), "bytes": size}, as_json, lambda: print(line))
