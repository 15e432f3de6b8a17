"""Images per second of one worker, two local workers and two Ray actors, once they have started.

Wanted: two local workers at least 1.9 times one, two Ray actors at least 0.85 times two local ones. What starting costs
is a figure of its own: seconds until the first outcome, against those of one worker in this process.
"""

import statistics
import time
from dataclasses import dataclass

from attribound.runs import RunConfig
from attribound.runs.engines import Engine, Local
from attribound.runs.engines.ray import Ray
from attribound.runs.runner import prepare
from attribound.runs.tasks import Task
from benchmarks.figure import Figure

CONFIG = RunConfig(
    model="mnist-cnn-noise", data="mnist-sample", noise="gaussian:0.5", samples=2048, items=12, pictures=0
)
ROUNDS = 2


@dataclass(frozen=True)
class Pace:
    """Seconds until the first outcome, and images per second after the start-up."""

    first: float
    rate: float


def pace(engine: Engine, workers: int) -> Pace:
    """As many images per worker with one as with several; the first two of each belong to the start-up."""
    items, warm = (CONFIG.items or 0) * workers // 2, 2 * workers
    _, job = prepare(CONFIG)
    started = time.perf_counter()
    outcomes = engine.outcomes(job, [Task(item, False) for item in range(items)], lambda: False)
    moments = [time.perf_counter() - started for _ in outcomes]
    return Pace(moments[0], (items - warm) / (moments[-1] - moments[warm - 1]))


def measure() -> list[Figure]:
    """The engines take turns, so that a busy moment of the machine hits all of them."""
    rounds = [(pace(Local(1), 1), pace(Local(2), 2), pace(Ray(2), 2)) for _ in range(ROUNDS)]
    one, two, ray = (statistics.median(pace.rate for pace in column) for column in zip(*rounds, strict=True))
    first = [statistics.median(pace.first for pace in column) for column in zip(*rounds, strict=True)]
    workers = statistics.median(two.rate / one.rate for one, two, _ in rounds)
    actors = statistics.median(ray.rate / two.rate for _, two, ray in rounds)
    return [
        Figure("two_workers", two, one, workers, "images/s"),
        Figure("two_workers_start", first[1], first[0], first[0] / first[1], "s to the first image"),
        Figure("ray_vs_local", ray, two, actors, "images/s"),
        Figure("ray_start", first[2], first[1], first[1] / first[2], "s to the first image"),
    ]
