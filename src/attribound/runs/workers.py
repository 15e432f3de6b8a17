"""Who does the work of each kind of run."""

from collections.abc import Callable

from attribound.runs.columns_work import Searching
from attribound.runs.job import Job
from attribound.runs.tolerating import Tolerating
from attribound.runs.work import Work, Worker

_WORKERS: dict[str, Callable[[Job], Work]] = {"certify": Worker, "tolerance": Tolerating, "columns": Searching}


def worker_of(job: Job) -> Work:
    """A worker for a job's kind of run."""
    return _WORKERS[job.config.kind](job)
