"""Who does the work of each kind of run: one input, one change of an input, or one row of a table at a time."""

from collections.abc import Callable
from typing import final

import msgspec
import torch

from attribound.changes.registry import parse_change
from attribound.checks import FloatArray
from attribound.fields.base import innermost
from attribound.models.forest import shap_of
from attribound.runs.job import Job
from attribound.runs.tasks import Outcome, Task
from attribound.runs.work import Work, Worker, class_of
from attribound.tolerances.answer import Tolerance
from attribound.tolerances.asker import Asker, Subjected
from attribound.tolerances.columns.asker import ColumnsAsker


@final
class Tolerating(Work):
    """Asks about changes of inputs; an input is looked at once for all of its changes that come in turn."""

    def __init__(self, job: Job) -> None:
        self.config = config = job.config
        opened = job.open()
        self.data = opened.data
        self.asker = Asker(
            opened.field,
            [parse_change(spec) for spec in config.changes],
            cosine=config.cosines,
            samples=config.samples,
            alpha=config.alpha,
            window=config.windows or None,
            reference=config.against,
            classes=self.data.classes,
            subject=config.subject,
            model_sha256=opened.model_sha256,
            batch=config.batch,
        )
        self._last: Subjected | None = None

    def outcome(self, task: Task) -> Outcome:
        """Ask about one change of one input."""
        about = self._look(task.item)
        known = self.asker.ask(task.part, about)
        versions = known.record.versions | {"cpu": torch.backends.cpu.get_cpu_capability()}
        record = msgspec.structs.replace(known.record, versions=versions)
        kept = _pictures(about, known, task)
        strip = self.asker.film(about, known) if task.film else None
        return Outcome(task.item, record, kept if strip is None else kept | strip.kept(task.part))

    def _look(self, item: int) -> Subjected:
        if self._last is None or self._last.item != item:
            config, x = self.config, self.data.input(item).to(self.config.device)
            label = self.data.label(item)
            self._last = self.asker.look(x, class_of(config.target), seed=config.seed, item=item, label=label)
        return self._last


def _pictures(about: Subjected, known: Tolerance, task: Task) -> dict[str, FloatArray]:
    kept = {"plain": about.familiar} if task.map or task.picture else {}
    if task.picture:
        kept |= {"input": about.x, **known.pictures}
    return {name: values.detach().cpu().double().numpy() for name, values in kept.items()}


@final
class Searching(Work):
    """Asks about one row after another."""

    def __init__(self, job: Job) -> None:
        config, opened = job.config, job.open()
        assert config.columns is not None
        self.data, target = opened.data, class_of(config.target)
        shap = shap_of(innermost(opened.field).model, self.data.features)
        self.asker = ColumnsAsker(
            shap, config.columns, target=target if isinstance(target, int) else None, subject=config.subject
        )

    def outcome(self, task: Task) -> Outcome:
        """Ask about one row."""
        record = self.asker.ask(self.data.row(task.item), item=task.item, label=self.data.label(task.item))
        return Outcome(task.item, record)


_WORKERS: dict[str, Callable[[Job], Work]] = {"certify": Worker, "tolerance": Tolerating, "columns": Searching}


def worker_of(job: Job) -> Work:
    """A worker for a job's kind of run."""
    return _WORKERS[job.config.kind](job)
