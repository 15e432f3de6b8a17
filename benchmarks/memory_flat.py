"""Peak memory of an estimate with 100,000 samples against one with 2,000, each in its own process."""

import subprocess
import sys

from benchmarks.figure import Figure

MANY, FEW = 100_000, 2_000

PROGRAM = """
import sys
from pathlib import Path
import attribound as ab
from attribound.data import mnist_sample
from attribound.models import load_shipped
from attribound.certificates.statements.registry import statistics
from attribound.certification.method import estimate
from attribound.sampling import Around, AtPoint, Plan
field = ab.Unit(ab.Saliency(load_shipped("mnist-cnn-noise")))
x = mnist_sample()[0][0]
family, design = Around(field, 7, x), AtPoint(ab.Gaussian(0.5))
estimate(family, design, Plan(int(sys.argv[1]), 1e-3), x.shape, statistics())
line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(int(line.split()[1]) / 1024)
"""


def peak(samples: int) -> float:
    command = [sys.executable, "-c", PROGRAM, str(samples)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def measure() -> list[Figure]:
    many, few = peak(MANY), peak(FEW)
    return [Figure("memory_flat", many, few, few / many, "MiB")]
