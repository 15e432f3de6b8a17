"""A Grad-CAM draw on EfficientNet-Lite0 in a process that keeps freed memory, against one that gives it back.

Processes take turns, each with one thread as a run's workers have; the figure is the median of the rounds.
"""

import statistics
import subprocess
import sys

from benchmarks.figure import Figure

ROUNDS, ROWS, CALLS = 2, 32, 3

CODE = """
import sys, time
from attribound import memory
if sys.argv[1] == "keep":
    memory.keep_freed()
import torch
import attribound as ab
from attribound.models import efficientnet_lite0
from attribound.training import fresh
torch.set_num_threads(1)
rows, calls = int(sys.argv[2]), int(sys.argv[3])
field = ab.GradCAM(fresh(efficientnet_lite0, 0).eval().requires_grad_(False))
points = torch.rand(rows, 3, 224, 224, generator=torch.Generator().manual_seed(0))
field.attribute(points, 0)
started = time.process_time()
for _ in range(calls):
    field.attribute(points, 0)
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print((time.process_time() - started) / rows / calls, peak / 1024)
"""


def seconds(how: str) -> tuple[float, float]:
    """Processor seconds of a draw, and the process's megabytes."""
    command = [sys.executable, "-c", CODE, how, str(ROWS), str(CALLS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    draw, peak = map(float, done.stdout.split())
    return draw, peak


def measure() -> list[Figure]:
    rounds = [(seconds("keep"), seconds("leave")) for _ in range(ROUNDS)]
    ours, peer = (statistics.median(draw for draw, _ in column) for column in zip(*rounds, strict=True))
    ratio = statistics.median(leave[0] / keep[0] for keep, leave in rounds)
    (kept, left) = (max(peak for _, peak in column) for column in zip(*rounds, strict=True))
    return [
        Figure("kept_memory", ours, peer, ratio, "s of a processor per draw"),
        Figure("kept_memory_peak", kept, left, left / kept, "MB"),
    ]
