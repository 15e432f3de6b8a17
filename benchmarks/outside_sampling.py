"""Processor seconds of a certificate beside its maps: an ordinary function of 20 numbers, 2,048 draws, one thread.

Wanted: 0.08 s. What the function itself takes is subtracted; noise, statistics, rules, statements and checks remain.
"""

import statistics
import time

import numpy as np

import attribound as ab
from attribound.checks import FloatArray
from benchmarks.figure import Figure

SAMPLES, SIZE, ROUNDS, WANTED = 2048, 20, 15, 0.08


class Clocked:
    """A map that is cheap to compute, and the processor seconds that it took."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._slopes = np.random.default_rng(0).normal(size=(SIZE, SIZE)) / SIZE**0.5

    def __call__(self, rows: FloatArray) -> FloatArray:
        """(B, 20) to (B, 20)."""
        started = time.process_time()
        maps: FloatArray = rows * (2.0 + np.tanh(rows @ self._slopes))
        self.seconds += time.process_time() - started
        return maps


def scores(rows: FloatArray) -> FloatArray:
    """(B, 20) to (B, 2)."""
    return np.stack([rows[:, 0], -rows[:, 0]], axis=1)


def spent() -> float:
    """Processor seconds of one certificate, less those of its function."""
    explain = Clocked()
    field = ab.Unit(ab.Function(explain, scores, name="clocked"))
    x = np.linspace(0.5, 1.5, SIZE)
    started = time.process_time()
    ab.certify(field, x, noise=ab.Gaussian(0.25), samples=SAMPLES, target=0, seed=0)
    return time.process_time() - started - explain.seconds


def measure() -> list[Figure]:
    seconds = statistics.median([spent() for _ in range(ROUNDS + 2)][2:])
    return [Figure("outside_sampling", seconds, WANTED, WANTED / seconds, "s of a processor")]
