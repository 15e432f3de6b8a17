"""One streaming pass: draws in, facts out.

Draws come in chunks. The first is a pilot, which no statistic tests on itself. Sums are float64, and memory does not
grow with the number of draws except for one float each.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

from torch import Tensor

from attribound.bounds import confidence
from attribound.bounds.evidence import Evidence
from attribound.bounds.facts import Fact
from attribound.checks import FloatArray
from attribound.fields.bounded import bounded
from attribound.fields.families import Family
from attribound.progress import Advance
from attribound.sampling.draws import AtPoint
from attribound.sampling.norm import Norm
from attribound.sampling.questions import Question
from attribound.sampling.statistic import Draws, Facts, Setting, Statistic
from attribound.sampling.witness import Witness

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


def estimate(
    family: Family,
    design: AtPoint,
    plan: Plan,
    shape: Sequence[int],
    statistics: Sequence[Statistic],
    progress: Advance | None = None,
) -> Estimate:
    """Sample the smoothed attribution of one input.

    Args:
        family: the maps.
        design: where they are drawn.
        plan: samples, alpha and when to stop.
        shape: shape of the field's map.
        statistics: what to prove; one of them is the norm, and each may use the facts of those before it.
        progress: called with (samples done, samples planned).
    """
    started, block = time.perf_counter(), family.field.block
    state = _State(family, design, plan, statistics, math.prod(shape))
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
        self.field, self.budget, self._stated = bounded(family.field), family.budget(design.noise), family.stated
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
        stated = {type(fact): fact for fact in self._stated}
        return Evidence(self._law, self.field.limit, {**facts, **stated}, self.budget)


def _keep(facts: dict[type[Fact], Fact], fact: Fact | None) -> None:
    if fact is not None:
        facts[type(fact)] = fact


def _looks(chunks: int) -> set[int]:
    """Chunk counts at which a question is looked at: a geometric sequence."""
    return {math.ceil(2 * 1.5**k) for k in range(64) if 2 * 1.5**k <= chunks}
