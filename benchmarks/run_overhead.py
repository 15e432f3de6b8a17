"""A run with its store against a bare loop of `ab.certify` on one thread (ratio >= 0.97 wanted)."""

import tempfile
from pathlib import Path

from msgspec.structs import replace

import attribound as ab
from attribound.data import mnist_sample
from attribound.models import load_shipped
from attribound.runs.engines import Local
from attribound.runs.runner import prepare, run
from benchmarks.engines import CONFIG
from benchmarks.figure import Figure, race

ITEMS, SAMPLES = 3, 2048


def measure() -> list[Figure]:
    images, field = mnist_sample()[0], ab.Unit(ab.Saliency(load_shipped("mnist-cnn-noise")))
    _, job = prepare(replace(CONFIG, samples=SAMPLES, items=ITEMS, pictures=ITEMS))

    def bare() -> None:
        for item in range(ITEMS):
            ab.certify(field, images[item], noise=ab.Gaussian(0.5), samples=SAMPLES, item=item, seed=0)

    def stored() -> None:
        with tempfile.TemporaryDirectory() as folder:
            run(job, Path(folder) / "run", Local(1))

    ours, peer, ratio = race(stored, bare, rounds=3)
    return [Figure("run_overhead", ours / ITEMS, peer / ITEMS, ratio, "s")]
