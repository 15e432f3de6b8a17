"""The work of a run of tolerances: one change of one input at a time."""

from typing import final

import msgspec
import torch

from attribound.changes.registry import parse_change
from attribound.checks import FloatArray
from attribound.runs.job import Job
from attribound.runs.tasks import Outcome, Task
from attribound.runs.work import Work, class_of
from attribound.tolerances.answer import Tolerance
from attribound.tolerances.asker import Asker, Subjected


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
    kept = {"plain": about.plain} if task.map or task.picture else {}
    if task.picture:
        kept |= {"input": about.x, **known.pictures}
    return {name: values.detach().cpu().double().numpy() for name, values in kept.items()}
