"""Engines that send a job away: copies of it in this process, and, among the slow tests, processes."""

import pickle
from dataclasses import dataclass

import pytest

from attribound.runs.engines import Local
from attribound.runs.engines.base import Engine
from attribound.runs.workers import worker_of


@dataclass(frozen=True)
class Copies(Engine):
    """Two workers as other processes have them, each with a copy of the job; the last task comes first."""

    def outcomes(self, job, tasks, stop):
        sent = pickle.dumps(job)
        workers = [worker_of(pickle.loads(sent)) for _ in range(2)]
        for number, task in enumerate(reversed(tasks)):
            if stop():
                return
            yield workers[number % 2].run(task)


ELSEWHERE = pytest.mark.parametrize("engine", [Copies(), pytest.param(Local(2), marks=pytest.mark.slow)], ids=repr)
"""Processes load torch, two seconds each: `test_runs.py` has some in any case, and each kind of run among the slow."""
