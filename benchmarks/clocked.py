"""How much of an estimate some statistics take, by a clock on each of them."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from attribound.certification.method import estimate
from attribound.sampling import AtPoint, Family, Plan
from attribound.sampling.statistic import Statistic
from benchmarks.figure import Figure


def cost(
    name: str,
    family: Family,
    design: AtPoint,
    *,
    draws: int,
    statistics: Sequence[Statistic],
    kinds: tuple[type[Statistic], ...],
) -> Figure:
    """Seconds that statistics of these kinds take, all other seconds of the same estimate, and their ratio."""
    spent: list[float] = []

    def clocked(work: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            started = time.perf_counter()
            result = work(*arguments)
            spent.append(time.perf_counter() - started)
            return result

        return timed

    for one in statistics:
        for method in ("start", "add", "prove") if isinstance(one, kinds) else ():
            setattr(one, method, clocked(getattr(one, method)))
    seconds = estimate(family, design, Plan(draws, 1e-3), family.x.shape, statistics).seconds
    return Figure(name, sum(spent), seconds - sum(spent), sum(spent) / (seconds - sum(spent)), "s")
