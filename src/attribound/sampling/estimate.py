"""One streaming pass: draws in, facts out.

Draws come in chunks. The first is a pilot, which no statistic tests on itself. Sums are float64, and memory does not
grow with the number of draws except for one float each.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, final

from torch import Tensor

from attribound.bounds import confidence
from attribound.bounds.evidence import Evidence
from attribound.bounds.facts import Fact
from attribound.bounds.shares import SHARES
from attribound.checks import FloatArray
from attribound.fields.bounded import bounded
from attribound.fields.families import Family
from attribound.sampling.draws import AtPoint
from attribound.sampling.error_bars import CellErrors
from attribound.sampling.moments import FourthMoments
from attribound.sampling.norm import Norm
from attribound.sampling.orders import PairOrders
from attribound.sampling.prediction import Prediction
from attribound.sampling.questions import Question
from attribound.sampling.radius import MapRadius
from attribound.sampling.spread import SecondMoments
from attribound.sampling.statistic import Draws, Facts, Setting, Statistic
from attribound.sampling.votes import VoteCount
from attribound.sampling.witness import Witness

Progress = Callable[[int, int], None]
Stopped = Literal["budget", "proved", "futile"]


@final
@dataclass(frozen=True)
class Plan:
    """How much to sample.

    Attributes:
        samples: the most noise draws to take.
        alpha: failure probability of everything said about this input.
        until: stop as soon as this question is decided.
    """

    samples: int
    alpha: float
    until: Question | None = None


@final
@dataclass(frozen=True)
class Estimate:
    """The smoothed map and what is known about it, all at once with probability at least 1 - alpha.

    Attributes:
        map: the mean of all draws, float64, in the map's shape.
        evidence: law, limit and facts: what certificates follow from.
        samples: noise draws taken.
        draws: independent draws for the bounds (samples / block).
        stopped: "budget", or "proved" / "futile" when a question was decided early.
        seconds: wall-clock time.
    """

    map: Tensor
    evidence: Evidence
    samples: int
    draws: int
    stopped: Stopped
    seconds: float


def default_statistics(
    *, cosines: Sequence[float] = (0.8, 0.9), cells: Sequence[float] = (), intervals: bool = False, reasons: int = 0
) -> list[Statistic]:
    """What every certificate rests on, and what was asked for; each may use the facts of those before it.

    Args:
        cosines: the moment rule certifies these.
        cells: fractions of the map whose votes are counted.
        intervals: whether error bars are wanted for every cell.
        reasons: of how many features it is counted how far they exceed the others.
    """
    statistics: list[Statistic] = [
        Norm(share=SHARES["norm"]),
        SecondMoments(share=SHARES["spread"]),
        MapRadius(share=SHARES["radius"]),
        FourthMoments(share=SHARES["moments"], cosines=cosines),
        Prediction(share=SHARES["prediction"]),
    ]
    if intervals:
        statistics.append(CellErrors(share=SHARES["error_bars"]))
    if cells:
        statistics.append(VoteCount(share=SHARES["votes"], fractions=cells))
    if reasons:
        statistics.append(PairOrders(share=SHARES["orders"], k=reasons))
    return statistics


def estimate(
    family: Family,
    design: AtPoint,
    plan: Plan,
    shape: Sequence[int],
    statistics: Sequence[Statistic] | None = None,
    progress: Progress | None = None,
) -> Estimate:
    """Sample the smoothed attribution of one input.

    Args:
        family: the maps.
        design: where they are drawn.
        plan: samples, alpha and when to stop.
        shape: shape of the field's map.
        statistics: what to prove; default: what every certificate rests on. The first is the norm.
        progress: called with (samples done, samples planned).
    """
    started, block = time.perf_counter(), family.field.block
    chosen = list(default_statistics() if statistics is None else statistics)
    state = _State(family, design, plan, chosen, math.prod(shape))
    looks, look = _looks(state.chunks), 0
    stopped: Stopped = "budget"
    witness = Witness(design.seed, design.item)
    for number, draws in enumerate(design.rounds(family, state.planned, witness), 1):
        state.take(draws, first=number == 1)
        if progress:
            progress(state.norm.count * block, state.planned * block)
        if plan.until and number in looks and number < state.chunks:
            look += 1
            stopped = state.decide(plan.until, look)
            if stopped != "budget":
                break
    witness.check()
    if stopped == "budget" and plan.until:
        look += 1
    return Estimate(
        map=state.norm.mean.view(*shape),
        evidence=state.evidence(look),
        samples=state.norm.count * block,
        draws=state.norm.count,
        stopped=stopped,
        seconds=time.perf_counter() - started,
    )


class _State:
    """The statistics of one estimate."""

    def __init__(self, family: Family, design: AtPoint, plan: Plan, statistics: Sequence[Statistic], size: int) -> None:
        self.field, self.budget = bounded(family.field), design.noise.budget
        self.plan, self.statistics = plan, statistics
        self.norm = next(one for one in statistics if isinstance(one, Norm))
        self.planned = max(plan.samples // family.field.block, 2)
        self.chunks = math.ceil(self.planned / design.chunk_rows(family, self.planned))
        self._law = design.noise.law(family.origin.numel())
        self._setting = Setting(size, self.field.limit, self.planned, self._law, self.field.block, plan.alpha)

    def take(self, draws: Draws, *, first: bool) -> None:
        """Give a chunk to every statistic."""
        for one in self.statistics:
            if first:
                one.start(draws, self._setting)
            else:
                one.add(draws)

    @property
    def sampled(self) -> FloatArray:
        """The sampled map, flat."""
        return self.norm.mean.numpy()

    def evidence(self, look: int) -> Evidence:
        """What the draws so far prove, at the look-th look (0: the only one, with the whole alpha)."""
        facts: dict[type[Fact], Fact] = {}
        for one in self.statistics:
            _keep(facts, one.prove(self._alpha(one, look), facts))
        return self._evidence(facts)

    def decide(self, question: Question, look: int) -> Stopped:
        """Whether the question is proved, out of reach within the budget, or still open."""
        if question.settled(self.evidence(look), self.sampled):
            return "proved"
        # Optimistic values; a mistake here costs an answer, never a false one.
        hopes: dict[type[Fact], Fact] = {}
        for one in self.statistics:
            _keep(hopes, one.hope(self._alpha(one, look + 1), hopes))
        return "budget" if question.settled(self._evidence(hopes), self.sampled) else "futile"

    def _alpha(self, statistic: Statistic, look: int) -> float:
        """A statistic's share of alpha; one that holds at a fixed number of draws only spends it over the looks."""
        share = statistic.share * self.plan.alpha
        return share if statistic.anytime or look == 0 else confidence.spend(share, look)

    def _evidence(self, facts: Facts) -> Evidence:
        stated = {type(fact): fact for fact in self.field.stated}
        return Evidence(self._law, self.field.limit, {**facts, **stated}, self.budget)


def _keep(facts: dict[type[Fact], Fact], fact: Fact | None) -> None:
    if fact is not None:
        facts[type(fact)] = fact


def _looks(chunks: int) -> set[int]:
    """Chunk counts at which a question is looked at: a geometric sequence."""
    return {math.ceil(2 * 1.5**k) for k in range(64) if 2 * 1.5**k <= chunks}
