"""What travels to workers that may see none of this machine's files: inputs with their tasks, files of the model."""

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import final

import msgspec
import torch
from torch import Tensor

from attribound.certificates.subject import Subject
from attribound.data import Dataset
from attribound.errors import StoredDataError
from attribound.runs.config import RunConfig
from attribound.runs.tasks import Given, Task
from attribound.tolerances.columns.record import PART


@final
class Heading(Dataset):
    """Of other data the description, and the one input that came with the task in hand."""

    def __init__(self, data: Dataset) -> None:
        self.name, self.classes, self.features = data.name, data.classes, data.features
        self._shape = tuple(data.shape)
        self._item, self._given = -1, Given(None, None)

    def __len__(self) -> int:
        return 0

    @property
    def shape(self) -> tuple[int, ...]:
        """The other's."""
        return self._shape

    def hold(self, task: Task) -> None:
        """Take the input that came with a task."""
        self._item, self._given = task.item, task.given or Given(None, None)

    def input(self, index: int) -> Tensor:
        """The input in hand."""
        given = self._of(index)
        if given.x is None:
            raise StoredDataError(given.trouble or f"item {index} of {self.name} did not come with its task")
        return given.x

    def label(self, index: int) -> int | None:
        """Its label."""
        return self._of(index).label

    def input_name(self, index: int) -> str:
        """Its name."""
        return self._of(index).name

    def sha256(self) -> str:
        """Nobody asks a worker."""
        return ""

    def _of(self, index: int) -> Given:
        return self._given if index == self._item else Given(None, None)


def give(task: Task, data: Dataset) -> Task:
    """The task with its input; one that cannot be read travels as the reason why."""
    name = data.input_name(task.item)
    try:
        # A copy: what is a view of all inputs would take them all along.
        table = task.part == PART  # rows of tables travel as they are written, in float64
        x = torch.from_numpy(data.row(task.item).copy()) if table else data.input(task.item).clone()
        given = Given(x, data.label(task.item), name)
    except StoredDataError as error:
        given = Given(None, None, name, str(error))
    return replace(task, given=given)


@final
@dataclass(frozen=True)
class Files:
    """Contents of the files that a model is opened from, by what was typed; code of the user's own does not travel."""

    contents: Mapping[str, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, config: RunConfig) -> "Files":
        """Those that the configuration names."""
        typed = [spec for spec in (config.model, config.denoiser) if spec is not None and Path(spec).is_file()]
        return cls({spec: Path(spec).read_bytes() for spec in typed})

    @contextlib.contextmanager
    def unpacked(self, subject: Subject) -> Iterator[Subject]:
        """The subject as it can be opened here; the files are gone afterwards."""
        with tempfile.TemporaryDirectory(prefix="attribound-") as folder:
            here: dict[str, str] = {}
            for number, (spec, content) in enumerate(self.contents.items()):
                path = Path(folder) / str(number) / Path(spec).name
                path.parent.mkdir()
                path.write_bytes(content)
                here[spec] = str(path)
            model, denoiser = here.get(subject.model, subject.model), here.get(subject.denoiser or "", subject.denoiser)
            yield msgspec.structs.replace(subject, model=model, denoiser=denoiser)
