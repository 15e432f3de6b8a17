"""The same work as Ray actors, here or on a cluster. The only file that imports ray."""

import logging
import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import ray
import torch

from attribound.runs.engines.base import MOST_DEATHS, Engine, Stop, lost
from attribound.runs.job import Job
from attribound.runs.tasks import Outcome, Task
from attribound.runs.workers import worker_of

_POLL_SECONDS = 0.5


@final
@dataclass(frozen=True)
class Ray(Engine):
    """Actors that restart when they die; their tasks are done again by Ray, and the store stays with the driver.

    Attributes:
        workers: number of actors.
        address: of an existing cluster; None starts Ray on this machine.
        device: workers ask for a whole GPU if this is not "cpu".
    """

    workers: int = 1
    address: str | None = None
    device: str = "cpu"

    def outcomes(self, job: Job, tasks: Sequence[Task], stop: Stop) -> Iterator[Outcome]:
        """Outcomes as they come; at most two tasks per actor are out at any moment."""
        started = not ray.is_initialized()
        if started:
            warden = _post_warden()
            ray.init(address=self.address, log_to_driver=False, include_dashboard=False, logging_level=logging.ERROR)
        try:
            yield from self._outcomes(job, tasks, stop)
        finally:
            if started:
                ray.shutdown()
                _dismiss(warden)

    def _room(self) -> int:
        """How many actors the cluster can hold: one that waits for room would keep its tasks waiting too."""
        resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        return max(int(resources.get("CPU" if self.device == "cpu" else "GPU", 1)), 1)

    def _outcomes(self, job: Job, tasks: Sequence[Task], stop: Stop) -> Iterator[Outcome]:
        # In a list, so that Ray hands over the reference: a restarted actor fetches the weights again.
        weights = [] if job.weights is None else [ray.put(dict(job.weights))]
        actor = ray.remote(_Actor).options(
            num_cpus=1,
            num_gpus=0 if self.device == "cpu" else 1,
            max_restarts=-1,
            max_task_retries=MOST_DEATHS - 1,
        )
        idle: deque[Any] = deque(
            actor.remote(replace(job, weights=None), weights) for _ in range(min(self.workers, self._room()))
        )
        idle.extend(list(idle))
        waiting, running = deque(tasks), dict[Any, tuple[Any, Task]]()
        while running or (waiting and not stop()):
            while waiting and idle and not stop():
                handle, task = idle.popleft(), waiting.popleft()
                running[handle.run.remote(task)] = (handle, task)
            done, _ = ray.wait(list(running), num_returns=1, timeout=_POLL_SECONDS)
            for reference in done:
                handle, task = running.pop(reference)
                idle.append(handle)
                yield _result(reference, task)


def _post_warden() -> subprocess.Popen[bytes] | None:
    """A process that ends Ray's agents should this one be killed: by themselves they live on for a minute."""
    if sys.platform != "linux":
        return None
    program = Path(__file__).with_name("warden.py")
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(program), str(os.getpid())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _dismiss(warden: subprocess.Popen[bytes] | None) -> None:
    if warden is not None:
        warden.kill()
        warden.wait()


class _Actor:
    """A worker in a process of Ray's."""

    def __init__(self, job: Job, weights: list[Any]) -> None:
        torch.set_num_threads(1)
        self.worker = worker_of(replace(job, weights=ray.get(weights[0]) if weights else None))

    def run(self, task: Task) -> Outcome:
        """Certify one input."""
        return self.worker.run(task)


def _result(reference: Any, task: Task) -> Outcome:
    try:
        outcome: Outcome = ray.get(reference)
    except ray.exceptions.RayActorError:
        return lost(task, MOST_DEATHS)
    return outcome
