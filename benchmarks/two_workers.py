"""A saliency run on the small CNN with two local workers against one, start-up of the processes included (>= 1.6)."""

import tempfile
from pathlib import Path

from attribound.runs import RunConfig
from attribound.runs.engines import Local
from attribound.runs.runner import prepare, run
from benchmarks.figure import Figure, seconds

CONFIG = RunConfig(
    model="mnist-cnn-noise", data="mnist-sample", noise="gaussian:0.5", samples=8192, items=30, pictures=0
)


def timed(engine, config: RunConfig = CONFIG) -> float:
    with tempfile.TemporaryDirectory() as folder:
        _, job = prepare(config)
        return seconds(lambda: run(job, Path(folder) / "run", engine))


def measure() -> list[Figure]:
    pairs = [(timed(Local(2)), timed(Local(1))) for _ in range(3)]
    ours, peer = sorted(pairs, key=lambda pair: pair[1] / pair[0])[1]
    return [Figure("two_workers", CONFIG.items / ours, CONFIG.items / peer, peer / ours, "images/s")]
