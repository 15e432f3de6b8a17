"""Two Ray actors against two local workers, both once they have started (ratio >= 0.85 wanted)."""

import time

from attribound.runs.engines import Engine, Local
from attribound.runs.engines.ray import Ray
from attribound.runs.runner import prepare
from attribound.runs.tasks import Task
from benchmarks.figure import Figure
from benchmarks.two_workers import CONFIG

WARM = 4
"""Outcomes that belong to the start-up: both workers have begun when so many are done."""


def rate(engine: Engine) -> float:
    """Images per second after the start-up."""
    _, job = prepare(CONFIG)
    moments = [
        time.perf_counter()
        for _ in engine.outcomes(job, [Task(item, False) for item in range(CONFIG.items or 0)], lambda: False)
    ]
    return (len(moments) - WARM) / (moments[-1] - moments[WARM - 1])


def measure() -> list[Figure]:
    pairs = [(rate(Ray(2)), rate(Local(2))) for _ in range(3)]
    ours, peer = sorted(pairs, key=lambda pair: pair[0] / pair[1])[1]
    return [Figure("ray_vs_local", ours, peer, ours / peer, "images/s")]
