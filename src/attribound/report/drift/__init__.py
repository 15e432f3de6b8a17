"""What two runs say about the same inputs, as a page and as Markdown: one module for each kind of run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from attribound.files import write_whole
from attribound.report.drift import page, reaches, reasons
from attribound.report.drift.lines import Lines, markdown_of
from attribound.runs.columns_compare import ColumnsComparison
from attribound.runs.compare import Comparison
from attribound.runs.compared import ComparedRuns
from attribound.runs.tolerance_compare import ReachComparison

__all__ = ["markdown", "write_page"]

_PAGES: dict[type, Callable[[Any, tuple[Path, Path]], str]] = {
    Comparison: page.render,
    ReachComparison: reaches.render,
    ColumnsComparison: reasons.render,
}
_LINES: dict[type, Callable[[Any], Lines]] = {
    Comparison: page.lines,
    ReachComparison: reaches.lines,
    ColumnsComparison: reasons.lines,
}


def write_page(found: ComparedRuns[Any], runs: tuple[Path, Path], out: Path) -> Path:
    """Write the page of a comparison as one self-contained HTML file."""
    return write_whole(out, _PAGES[type(found)](found, runs))


def markdown(found: ComparedRuns[Any]) -> str:
    """A comparison for a pull request."""
    return markdown_of(found.sentences, _LINES[type(found)](found))
