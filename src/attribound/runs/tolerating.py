"""The work of a run of tolerances: one change of one input at a time."""

from typing import final

import msgspec
import torch

from attribound.certification.reopen import open_field
from attribound.changes.registry import parse_change
from attribound.checks import FloatArray
from attribound.runs.luggage import take
from attribound.runs.tasks import Outcome, Task
from attribound.runs.work import Job, Work, class_of, model_of
from attribound.tolerances.answer import Tolerance
from attribound.tolerances.asker import Asker, Subjected


@final
class Tolerating(Work):
    """Asks about changes of inputs; an input is looked at once for all of its changes that come in turn."""

    def __init__(self, job: Job) -> None:
        self.config = config = job.config
        self.data = job.data()
        self.asker = Asker(
            open_field(config.subject, model_of(job, self.data.shape)),
            [parse_change(spec) for spec in config.changes],
            cosine=config.cosines,
            samples=config.samples,
            alpha=config.alpha,
            window=config.windows or None,
            reference=config.against,
            classes=self.data.classes,
            subject=config.subject,
            batch=config.batch,
        )
        self._last: Subjected | None = None

    def outcome(self, task: Task) -> Outcome:
        """Ask about one change of one input."""
        about = self._look(task)
        known = self.asker.ask(task.part, about)
        versions = known.record.versions | {"cpu": torch.backends.cpu.get_cpu_capability()}
        record = msgspec.structs.replace(known.record, versions=versions)
        return Outcome(task.item, record, _pictures(about, known, task))

    def _look(self, task: Task) -> Subjected:
        if self._last is None or self._last.item != task.item:
            config, (x, label) = self.config, take(task, self.data)
            target = class_of(config.target)
            self._last = self.asker.look(x.to(config.device), target, seed=config.seed, item=task.item, label=label)
        return self._last


def _pictures(about: Subjected, known: Tolerance, task: Task) -> dict[str, FloatArray]:
    kept = {"plain": about.plain} if task.map or task.picture else {}
    if task.picture:
        kept |= {"input": about.x, **known.pictures}
    return {name: values.detach().cpu().double().numpy() for name, values in kept.items()}
