"""The work of a run of column tolerances: one row at a time; the forest's tables are made once per worker."""

from typing import final

from attribound.fields.base import innermost
from attribound.models.forest import shap_of
from attribound.runs.job import Job
from attribound.runs.tasks import Outcome, Task
from attribound.runs.work import Work, class_of
from attribound.tolerances.columns.asker import ColumnsAsker


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
