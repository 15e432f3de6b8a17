"""The one interface of experiments, and how one is conducted: its pieces are computed once and kept in one file."""

import hashlib
import io
import json
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, final

from PIL import Image

from attribound.errors import StoredDataError
from attribound.files import read_text, write_whole
from attribound.paper.settings import SAMPLE, Settings
from attribound.paper.table import Table
from attribound.report.figures import plots

Numbers = dict[Any, Any]
"""What the pieces of an experiment gave, by the keys under which it named them."""


@final
@dataclass(frozen=True)
class Piece:
    """A part of an experiment that is computed once and kept as JSON.

    Attributes:
        name: what it is, for people.
        about: everything it follows from.
        work: computes it; plain JSON values.
    """

    name: str
    about: dict[str, Any]
    work: Callable[[], Any]

    @property
    def key(self) -> str:
        """Its name in files and folders: the same only if everything it follows from is the same."""
        digest = hashlib.sha256(json.dumps(self.about, sort_keys=True).encode()).hexdigest()
        return f"{re.sub('[^A-Za-z0-9.-]+', '_', self.name)}-{digest[:12]}"


class Experiment(ABC):
    """One table or figure of the paper.

    Attributes:
        name: what people type.
        title: what it shows.
        file: the experiment whose file of numbers it shares; "": it has its own.
        data: data set unless another is asked for.
        items: images of the full version.
        samples: draws of the full version.
        quick_items: images of the quick version.
        quick_samples: draws of the quick version.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    file: ClassVar[str] = ""
    data: ClassVar[str] = SAMPLE
    items: ClassVar[int] = 200
    samples: ClassVar[int] = 1024
    quick_items: ClassVar[int] = 2
    quick_samples: ClassVar[int] = 64

    @abstractmethod
    def pieces(self, settings: Settings) -> Mapping[Any, Piece]:
        """What must be computed, in pieces; the keys are the table's."""

    @abstractmethod
    def table(self, settings: Settings, numbers: Numbers) -> Table:
        """The paper's numbers beside ours: a function of its pieces."""

    def figure(self, settings: Settings, numbers: Numbers) -> plots.Picture | None:
        """The picture, where the paper has one."""
        return None


def conduct(
    experiment: Experiment,
    settings: Settings,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> Table:
    """Compute what is missing; write NAME.json, NAME.md, NAME.tex and NAME.png to the settings' folder."""
    settings = replace(settings, data=settings.data or experiment.data)
    pieces = experiment.pieces(settings)
    file = Kept(settings.out / f"{experiment.file or experiment.name}.json")
    numbers: Numbers = {}
    for number, (key, piece) in enumerate(pieces.items()):
        progress(experiment.name, number, len(pieces))
        numbers[key] = file.once(piece)
    progress(experiment.name, len(pieces), len(pieces))
    table = experiment.table(settings, numbers)
    write_whole(settings.out / f"{experiment.name}.md", table.markdown())
    write_whole(settings.out / f"{experiment.name}.tex", table.latex())
    if (figure := experiment.figure(settings, numbers)) is not None:
        _save(figure, settings.out / f"{experiment.name}.png")
    return table


def _save(figure: plots.Picture, path: Path) -> None:
    """As PNG with a palette: a third of the size."""
    small = io.BytesIO()
    with Image.open(io.BytesIO(plots.png(figure))) as drawn:
        drawn.convert("RGB").quantize(256).save(small, "PNG", optimize=True)
    write_whole(path, small.getvalue())


@final
class Kept:
    """A file of numbers, one line per piece; every new piece is written at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._pieces: dict[str, Any] = json.loads(read_text(path)) if path.exists() else {}
            if not all("value" in stored for stored in self._pieces.values()):
                raise ValueError("a piece without a value")
        except (ValueError, TypeError, AttributeError) as error:
            raise StoredDataError(f"{path} does not hold the numbers of a table: {error}") from None

    def once(self, piece: Piece) -> Any:
        """What the piece gave, now or before."""
        if piece.key not in self._pieces:
            started = time.perf_counter()
            value = json.loads(json.dumps(piece.work()))
            seconds = round(time.perf_counter() - started, 1)
            self._pieces[piece.key] = {"about": piece.about, "seconds": seconds, "value": value}
            lines = (json.dumps({key: one}, separators=(",", ":"))[1:-1] for key, one in self._pieces.items())
            write_whole(self._path, "{\n" + ",\n".join(lines) + "\n}\n")
        return self._pieces[piece.key]["value"]
