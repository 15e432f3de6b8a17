"""`report`: a run as one page."""

import json
from pathlib import Path
from typing import Annotated

import typer

from attribound.cli.app import Json, app
from attribound.cli.runs import Run


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
    if as_json:
        print(json.dumps({"out": str(written), "bytes": written.stat().st_size}))
    else:
        print(f"wrote {written} ({written.stat().st_size / 1e6:.1f} MB): open it in a browser")
