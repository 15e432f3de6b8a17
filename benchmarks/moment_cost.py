"""What the moment rule adds to sampling: its seconds over all others of the same estimate (lower is better).

Wanted: at most 25 % on the small CNN with 8,192 draws, 2 % on ResNet-50 at ImageNet's size.
"""

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

import attribound as ab
from attribound.data import mnist_sample
from attribound.models import load_shipped, resnet50
from attribound.sampling import Plan, Source, default_statistics, estimate
from attribound.sampling.moments import FourthMoments
from attribound.training import fresh
from benchmarks.figure import Figure


def cost(name: str, field: ab.Field, x: Tensor, draws: int, batch: int) -> Figure:
    """One estimate, with a clock on the moments."""
    spent: list[float] = []

    def clocked(work: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            started = time.perf_counter()
            result = work(*arguments)
            spent.append(time.perf_counter() - started)
            return result

        return timed

    statistics = default_statistics()
    moments = next(one for one in statistics if isinstance(one, FourthMoments))
    for method in ("start", "add", "prove"):
        setattr(moments, method, clocked(getattr(moments, method)))
    source = Source(field, x, 7, ab.Gaussian(0.5), batch=batch, classes=True)
    seconds = estimate(source, Plan(draws, 1e-3), x.shape, statistics).seconds
    return Figure(name, sum(spent), seconds - sum(spent), sum(spent) / (seconds - sum(spent)), "s")


def measure() -> list[Figure]:
    small = ab.Unit(ab.Saliency(load_shipped("mnist-cnn-consistency")))
    large = ab.Unit(ab.Saliency(fresh(resnet50, 0).eval().requires_grad_(False)))
    photo = torch.rand(3, 224, 224, generator=torch.Generator().manual_seed(0))
    return [
        cost("moment_cost", small, mnist_sample()[0][0], 8192, 256),
        cost("moment_cost_resnet50", large, photo, 128, 8),
    ]
