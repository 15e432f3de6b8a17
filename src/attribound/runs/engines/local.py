"""The default engine: processes on this machine that share the model's memory."""

import multiprocessing
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import final

import torch

from attribound.runs.engines.base import MOST_DEATHS, Engine, Stop, lost
from attribound.runs.tasks import Outcome, Task
from attribound.runs.work import Job, Worker

_POLL_SECONDS = 0.5
_worker: Worker | None = None


@final
@dataclass(frozen=True)
class Local(Engine):
    """One worker runs in this process; several run in processes of their own, one thread each."""

    workers: int = 1

    def outcomes(self, job: Job, tasks: Sequence[Task], stop: Stop) -> Iterator[Outcome]:
        """Outcomes as they come."""
        return _here(job, tasks, stop) if self.workers == 1 else _processes(job, tasks, stop, self.workers)


def _here(job: Job, tasks: Sequence[Task], stop: Stop) -> Iterator[Outcome]:
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        worker = Worker(job)
        for task in tasks:
            if stop():
                return
            yield worker.run(task)
    finally:
        torch.set_num_threads(threads)


def _processes(job: Job, tasks: Sequence[Task], stop: Stop, workers: int) -> Iterator[Outcome]:
    """Keep every worker busy with one task waiting; a dead pool is replaced and its tasks are done again."""
    waiting, deaths = deque(tasks), dict[int, int]()
    while waiting and not stop():
        running: dict[Future[Outcome], Task] = {}
        with _pool(job, workers) as pool:
            try:
                while running or (waiting and not stop()):
                    while waiting and len(running) < 2 * workers and not stop():
                        task = waiting.popleft()
                        running[pool.submit(_run, task)] = task
                    for future in wait(running, _POLL_SECONDS, FIRST_COMPLETED).done:
                        outcome = future.result()
                        del running[future]
                        yield outcome
            except BrokenProcessPool:
                for task in running.values():
                    deaths[task.item] = deaths.get(task.item, 0) + 1
                    if deaths[task.item] >= MOST_DEATHS:
                        yield lost(task, deaths[task.item])
                    else:
                        waiting.appendleft(task)


def _pool(job: Job, workers: int) -> ProcessPoolExecutor:
    # spawn: a forked copy of a process that has torch threads may hang.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(job,))


def _begin(job: Job) -> None:
    """Start a worker process; an interrupt is the parent's business."""
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
    _worker = Worker(job)


def _run(task: Task) -> Outcome:
    if _worker is None:
        raise RuntimeError("the worker has not begun")
    return _worker.run(task)
