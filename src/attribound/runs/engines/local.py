"""The default engine: processes on this machine that share the model's memory."""

import multiprocessing
import os
import signal
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import final

import torch

from attribound import memory
from attribound.errors import AttriboundError
from attribound.runs.engines.base import MOST_DEATHS, Engine, Stop, lost
from attribound.runs.engines.parents import deaf, die_with
from attribound.runs.job import Job
from attribound.runs.tasks import Outcome, Task
from attribound.runs.work import Work
from attribound.runs.workers import worker_of
from attribound.threads import limited

_POLL_SECONDS = 0.5
_worker: Work | None = None
_refusal: AttriboundError | None = None
"""Why this process has no worker: every worker of the run would be refused the same, so the run must end."""


@final
@dataclass(frozen=True)
class Local(Engine):
    """One worker runs in this process; several run in processes of their own, one thread each."""

    workers: int = 1

    def outcomes(self, job: Job, tasks: Sequence[Task], stop: Stop) -> Iterator[Outcome]:
        """Outcomes as they come."""
        return _here(job, tasks, stop) if self.workers == 1 else _processes(job, tasks, stop, self.workers)


def _here(job: Job, tasks: Sequence[Task], stop: Stop) -> Iterator[Outcome]:
    with limited(1):
        worker = worker_of(job)
        for task in tasks:
            if stop():
                return
            yield worker.run(task)


def _processes(job: Job, tasks: Sequence[Task], stop: Stop, workers: int) -> Iterator[Outcome]:
    """Keep every worker busy with one task waiting.

    When a worker dies, the tasks that were out are suspects: they are done again one at a time, so that only the one
    that kills its worker is charged.
    """
    waiting, suspects, deaths = deque(tasks), deque[Task](), Counter[Task]()
    while (waiting or suspects) and not stop():
        running: dict[Future[Outcome], Task] = {}
        alone = bool(suspects)
        try:
            yield from _drain(job, suspects if alone else waiting, running, stop, 1 if alone else workers)
        except BrokenProcessPool:
            for task in running.values():
                deaths[task] += alone
                if deaths[task] >= MOST_DEATHS:
                    yield lost(task, deaths[task])
                else:
                    suspects.append(task)


def _drain(
    job: Job, queue: deque[Task], running: dict[Future[Outcome], Task], stop: Stop, workers: int
) -> Iterator[Outcome]:
    """Outcomes of a queue by a pool of its own; `running` always holds what is out."""
    pool, most = _pool(job, workers), 1 if workers == 1 else 2 * workers
    try:
        while running or (queue and not stop()):
            while queue and len(running) < most and not stop():
                task = queue.popleft()
                with deaf():
                    running[pool.submit(_run, task)] = task
            for future in wait(running, _POLL_SECONDS, FIRST_COMPLETED).done:
                outcome = future.result()
                del running[future]
                yield outcome
    finally:
        # Nothing is out unless something went wrong or the user is impatient: then we do not wait.
        for process in list((pool._processes or {}).values()) if running else []:
            process.terminate()
        pool.shutdown(wait=not running, cancel_futures=True)


def _pool(job: Job, workers: int) -> ProcessPoolExecutor:
    # spawn: a forked copy of a process that has torch threads may hang.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(job, os.getpid()))


def _begin(job: Job, parent: int) -> None:
    """Start a worker process; an interrupt is the parent's business."""
    global _worker, _refusal
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with(parent)
    torch.set_num_threads(1)
    memory.keep_freed()
    try:
        _worker = worker_of(job)
    except AttriboundError as error:  # raised here, it would kill this process, and the next one, and the next
        _refusal = error


def _run(task: Task) -> Outcome:
    if _refusal is not None:
        raise _refusal
    if _worker is None:
        raise RuntimeError("the worker has not started")
    return _worker.run(task)
