"""The whole method on one screen: draw, collect, prove, answer.

1. Draw maps of the input under independent noise, chunk by chunk: `design.rounds`.
2. Collect: every statistic sees every chunk. The first is a pilot, which no statistic tests on itself.
3. Prove: each statistic turns what it saw into one fact, at its own share of alpha: `statistic.prove`.
4. Answer: each statement says what follows from the facts, by the rules in `bounds`: `statement.answer`.

The shares sum to at most 1: with probability at least 1 - alpha all facts are true at once, and so are all answers.
Sums are float64, and memory does not grow with the number of draws except for one float each.
"""

import math
import time
from collections.abc import Sequence

from attribound.bounds.evidence import Evidence
from attribound.bounds.facts import Fact
from attribound.certificates.certificate import Certificate
from attribound.certification.recording import Request, record_of
from attribound.fields.bounded import bounded
from attribound.fields.families import Family
from attribound.progress import Advance
from attribound.sampling.draws import AtPoint
from attribound.sampling.norm import Norm
from attribound.sampling.plan import Estimate, Plan, Stopped
from attribound.sampling.questions import Question
from attribound.sampling.statistic import Draws, Setting, Statistic
from attribound.sampling.witness import Witness


def answer(request: Request, progress: Advance | None = None) -> Certificate:
    """The certificate of one explanation: its record states what every statement proves."""
    statistics = [one for statement in request.statements for one in statement.statistics()]
    found = estimate(request.family, request.design, request.plan, request.plain.shape, statistics, progress)
    certificate = Certificate(record_of(request, found), found.map.numpy())
    return certificate.stating(request.epsilons, request.cosines)


def estimate(
    family: Family,
    design: AtPoint,
    plan: Plan,
    shape: Sequence[int],
    statistics: Sequence[Statistic],
    progress: Advance | None = None,
) -> Estimate:
    """Sample the smoothed attribution of one input, and prove facts about it.

    Args:
        family: the maps.
        design: where they are drawn.
        plan: samples, alpha and when to stop.
        shape: shape of the field's map.
        statistics: what to prove; one of them is the norm, and each may use the facts of those before it.
        progress: called with (samples done, samples planned).
    """
    started, block, look = time.perf_counter(), family.field.block, 0
    state = _State(family, design, plan, statistics, math.prod(shape))
    stopped: Stopped = "budget"
    witness = Witness(design.seed, design.item)
    for number, draws in enumerate(design.rounds(family, state.planned, witness), 1):
        state.collect(draws, first=number == 1)
        if progress:
            progress(state.norm.count * block, state.planned * block)
        if plan.until and number in state.looks:
            look += 1
            stopped = state.decide(plan.until, look)
            if stopped != "budget":
                break
    witness.check()
    if stopped == "budget" and plan.until:
        look += 1
    return Estimate(
        map=state.norm.mean.view(*shape),
        evidence=state.prove(look),
        samples=state.norm.count * block,
        draws=state.norm.count,
        stopped=stopped,
        seconds=time.perf_counter() - started,
    )


class _State:
    """The statistics of one estimate."""

    def __init__(self, family: Family, design: AtPoint, plan: Plan, statistics: Sequence[Statistic], size: int) -> None:
        self._field, self._plan, self._statistics = bounded(family.field), plan, statistics
        self._budget, self._stated = family.budget(design.noise), {type(fact): fact for fact in family.stated}
        self.norm = next(one for one in statistics if isinstance(one, Norm))
        self.planned = max(plan.samples // self._field.block, 2)
        self.looks = plan.looks(math.ceil(self.planned / design.chunk_rows(family, self.planned)))
        self._law = design.noise.law(family.origin.numel())
        self._setting = Setting(size, self._field.limit, self.planned, self._law, self._field.block, plan.alpha)

    def collect(self, draws: Draws, *, first: bool) -> None:
        """Give a chunk to every statistic."""
        for one in self._statistics:
            if first:
                one.start(draws, self._setting)
            else:
                one.add(draws)

    def prove(self, look: int, *, hoping: bool = False) -> Evidence:
        """What the draws prove, or may prove in the end, at the look-th look (0: the only one, with all of alpha)."""
        facts: dict[type[Fact], Fact] = {}
        for one in self._statistics:
            judge = one.hope if hoping else one.prove
            if (fact := judge(self._plan.share(one, look), facts)) is not None:
                facts[type(fact)] = fact
        return Evidence(self._law, self._field.limit, {**facts, **self._stated}, self._budget)

    def decide(self, question: Question, look: int) -> Stopped:
        """Whether the question is proved, out of reach within the budget, or still open."""
        sampled = self.norm.mean.numpy()
        if question.settled(self.prove(look), sampled):
            return "proved"
        # Optimistic values: a mistake here costs an answer, and never gives a false one.
        return "budget" if question.settled(self.prove(look + 1, hoping=True), sampled) else "futile"
