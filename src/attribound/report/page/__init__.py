"""The page of a run of any kind: one HTML file for everybody."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from attribound.files import write_whole
from attribound.runs import Store

__all__ = ["render", "write_report"]

_PAGES = {"certify": "page.page", "tolerance": "tolerance.page", "columns": "columns.page"}


def render(store: Store, scan: Mapping[str, Any] | None = None) -> str:
    """The page as text; a scan is for certificates: what `attribound tune` tried with the run's model."""
    page = import_module(f"attribound.report.{_PAGES[store.config.kind]}")
    text: str = page.render(store) if scan is None else page.render(store, scan)
    return text


def write_report(run: Path, out: Path | None = None, *, scan: Mapping[str, Any] | None = None) -> Path:
    """Write the page of a run as one self-contained HTML file; it appears whole or not at all.

    Args:
        run: folder of the run.
        out: the file; default: report.html in the run.
        scan: noise levels that `attribound tune` tried with the run's model.

    Returns:
        The file.
    """
    with Store.read_any(run) as store:
        page = render(store, scan)
    return write_whole(run / "report.html" if out is None else out, page)
