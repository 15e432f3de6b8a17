"""Peak memory of an estimate with 100,000 samples against one with 2,000, each in its own process."""

import subprocess
import sys

from benchmarks.figure import Figure

PROGRAM = """
import sys
from pathlib import Path
import attribound as ab
from attribound.data import mnist_sample
from attribound.models import load_shipped
from attribound.sampling import Plan, Source, estimate
field = ab.Unit(ab.Saliency(load_shipped("mnist-cnn-noise")))
x = mnist_sample()[0][0]
estimate(Source(field, x, 7, ab.Gaussian(0.5)), Plan(int(sys.argv[1]), 1e-3), x.shape)
line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(int(line.split()[1]) / 1024)
"""


def peak(samples: int) -> float:
    command = [sys.executable, "-c", PROGRAM, str(samples)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def measure() -> list[Figure]:
    many, few = peak(100_000), peak(2_000)
    return [Figure("memory_flat", many, few, few / many, "MiB")]
