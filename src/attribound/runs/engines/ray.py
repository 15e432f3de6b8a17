"""The same work as Ray actors, here or on a cluster. The only file that imports ray."""

import logging
import os
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import ray
import torch

from attribound import memory
from attribound.data import Dataset
from attribound.errors import AttriboundError
from attribound.runs.engines.base import MOST_DEATHS, Engine, Stop, lost
from attribound.runs.job import Job
from attribound.runs.luggage import Files, Heading, give
from attribound.runs.tasks import Outcome, Task
from attribound.runs.workers import worker_of

_POLL_SECONDS = 0.5
_INSTALLED = "A model or a method of your own (module:name) must be installed on every machine of the cluster"


@final
@dataclass(frozen=True)
class Ray(Engine):
    """Actors that are replaced when they die; inputs and model files travel to them, the store stays with the driver.

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
        data = job.open().data
        crew = _Crew(job, data, self.device)
        for _ in range(min(self.workers, self._room())):
            crew.hire()
        waiting, deaths = deque(tasks), Counter[Task]()
        while crew.running or (waiting and not stop()):
            while waiting and crew.idle and not stop():
                crew.begin(give(waiting.popleft(), data))
            for task, outcome in crew.finished():
                if outcome is not None:
                    yield outcome
                    continue
                deaths[task] += 1
                if deaths[task] >= MOST_DEATHS:
                    yield lost(task, deaths[task])
                else:
                    waiting.appendleft(task)


@final
class _Crew:
    """Actors, and what each of them does. One that dies, or whose machine goes, is replaced where there is room.

    Its tasks go to the others: Ray itself would keep them for it, however long it waits for room.

    Attributes:
        idle: actors that have begun, once per task that they may be given.
        running: what is out, by its reference.
    """

    def __init__(self, job: Job, data: Dataset, device: str) -> None:
        self._actor = ray.remote(_Actor).options(
            num_cpus=1, num_gpus=0 if device == "cpu" else 1, max_restarts=0, max_task_retries=0
        )
        # In a list, so that Ray hands over the references: each machine fetches weights and files once.
        self._weights = [] if job.weights is None else [ray.put(dict(job.weights))]
        self._files = [ray.put(Files.of(job.config))]
        self._job = replace(job, weights=None, heading=Heading(data))
        self._starting = dict[Any, Any]()
        self._gone = list[Any]()
        self.idle, self.running = deque[Any](), dict[Any, tuple[Any, Task]]()

    def hire(self) -> None:
        """One more actor; it gets tasks once it has begun."""
        actor: Any = self._actor.remote(self._job, self._weights, self._files)
        self._starting[actor.begun.remote()] = actor

    def begin(self, task: Task) -> None:
        """Give a task to the next idle actor."""
        actor = self.idle.popleft()
        self.running[actor.run.remote(task)] = (actor, task)

    def finished(self) -> Iterator[tuple[Task, Outcome | None]]:
        """Tasks that came to an end meanwhile, each with its outcome, or None if its actor died."""
        done, _ = ray.wait([*self.running, *self._starting], num_returns=1, timeout=_POLL_SECONDS)
        for reference in done:
            if reference in self._starting:
                self._welcome(reference)
                continue
            actor, task = self.running.pop(reference)
            try:
                outcome: Outcome = ray.get(reference)
            except ray.exceptions.RayActorError:
                self._replace(actor)
                yield task, None
            else:
                self.idle.append(actor)
                yield task, outcome

    def _welcome(self, reference: Any) -> None:
        actor = self._starting.pop(reference)
        try:
            ray.get(reference)
        except ray.exceptions.ActorDiedError as error:
            if "creation task" in str(error):  # it would fail again everywhere
                raise AttriboundError(f"a worker could not start: {_last_line(error)}. {_INSTALLED}") from None
            self.hire()
        else:
            self.idle.extend([actor, actor])

    def _replace(self, actor: Any) -> None:
        """Once, however many of its tasks were out."""
        if all(actor != other for other in self._gone):
            self._gone.append(actor)
            self.hire()
        self.idle = deque(other for other in self.idle if other != actor)


def _last_line(error: Exception) -> str:
    return str(error).strip().splitlines()[-1].strip()


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

    def __init__(self, job: Job, weights: list[Any], files: list[Any]) -> None:
        torch.set_num_threads(1)
        memory.keep_freed()
        shared = ray.get(weights[0]) if weights else None
        self.worker = worker_of(replace(job, weights=shared, files=ray.get(files[0])))

    def begun(self) -> None:
        """Answers once the model is open."""

    def run(self, task: Task) -> Outcome:
        """Certify one input."""
        return self.worker.run(task)
