"""The one interface of experiments, and how one is run: cells are computed once and kept, so that it resumes."""

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from attribound.paper.settings import Cell, Settings
from attribound.paper.table import Table
from attribound.report import plots

Found = dict[str, Any]


class Experiment(ABC):
    """One table or figure of the paper.

    Attributes:
        name: what people type.
        title: what it shows.
        items: images of the full version.
        samples: draws of the full version.
        quick_items: images of the quick version.
        quick_samples: draws of the quick version.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    items: ClassVar[int] = 200
    samples: ClassVar[int] = 1024
    quick_items: ClassVar[int] = 2
    quick_samples: ClassVar[int] = 64

    @abstractmethod
    def cells(self, settings: Settings) -> Sequence[Cell]:
        """What must be computed, in pieces."""

    @abstractmethod
    def table(self, settings: Settings, found: Found) -> Table:
        """The paper's numbers beside ours."""

    def figure(self, settings: Settings, found: Found) -> plots.Picture | None:
        """The picture, where the paper has one."""
        return None


def conduct(
    experiment: Experiment,
    settings: Settings,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> Table:
    """Compute what is missing, and write NAME.md, NAME.tex and NAME.png to the settings' folder."""
    kept = settings.out / "cells"
    kept.mkdir(parents=True, exist_ok=True)
    cells = experiment.cells(settings)
    found: Found = {}
    for number, cell in enumerate(cells):
        progress(experiment.name, number, len(cells))
        found[cell.key] = _once(kept / f"{cell.key}.json", cell)
    progress(experiment.name, len(cells), len(cells))
    table = experiment.table(settings, found)
    (settings.out / f"{experiment.name}.md").write_text(table.markdown(), encoding="utf-8")
    (settings.out / f"{experiment.name}.tex").write_text(table.latex(), encoding="utf-8")
    if (figure := experiment.figure(settings, found)) is not None:
        plots.save(figure, settings.out / f"{experiment.name}.png")
    return table


def _once(path: Path, cell: Cell) -> Any:
    if path.exists():
        return read_cell(path)
    started = time.perf_counter()
    value = cell.work()
    stored = json.dumps({"about": cell.about, "seconds": round(time.perf_counter() - started, 1), "value": value})
    partial = path.with_name(path.name + ".partial")
    partial.write_text(stored + "\n", encoding="utf-8")
    partial.replace(path)
    return json.loads(stored)["value"]


def read_cell(path: Path) -> Any:
    """What a finished cell found."""
    return json.loads(path.read_text(encoding="utf-8"))["value"]
