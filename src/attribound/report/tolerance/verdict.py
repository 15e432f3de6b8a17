"""The first thing that the page says: how far pictures may change, for how many of them."""

from dataclasses import dataclass
from typing import final

from attribound.report.shared.bars import Bar
from attribound.report.shared.verdict import BROKEN
from attribound.report.tolerance.rows import default_stops
from attribound.report.tolerance.words import reach, title
from attribound.runs.tolerance_summary import ChangeSummary, ToleranceSummary
from attribound.tolerances.evidence import Interval


@final
@dataclass(frozen=True)
class Verdict:
    """What a run says at one cosine.

    Attributes:
        kind: "proved", "warning", "nothing" or "broken".
        text: the first sentence.
        bars: for each change, what at least half of the inputs keep.
    """

    kind: str
    text: str
    bars: list[Bar]


_NAMED = 3
"""How many changes the first sentence names; the others are in the bars only."""


def judge(summary: ToleranceSummary, key: str, noun: str) -> Verdict:
    """The verdict at one of the cosines asked.

    Args:
        summary: the run.
        key: the cosine.
        noun: what the inputs are.
    """
    known = {name: one for name, one in summary.changes.items() if one.change}
    shared = {name: _shared(one, key, summary.inputs) for name, one in known.items()}
    bars = [_bar(one, key, shared[name], summary.inputs, noun) for name, one in known.items()]
    far = [name for name, one in shared.items() if one is not None and one[0] < one[1]]
    assumed = any(bar.assumed for bar in bars)
    kind = "nothing" if not far else "warning" if summary.doubtful or assumed else "proved"
    kind = "broken" if summary.broken else kind
    whose = f"this {noun}" if summary.inputs == 1 else f"at least half of the {summary.inputs} {noun}s"
    if not summary.inputs:
        return Verdict(kind, "This run has no records yet.", bars)
    if not far and summary.inputs > 1:
        return Verdict(kind, f"No change is proved to be harmless for {whose}.", bars)
    if not far:
        return Verdict(kind, f"Nothing is proved about the explanation of {whose}.", bars)
    told = [_told(known[name], shared[name], named=True) for name in far]
    count = _count(len(far), len(known), each=summary.inputs > 1)
    start = "If the ASSUMED limit is right, the" if assumed else "The"
    start = f"{BROKEN}{start[0].lower()}{start[1:]}" if summary.broken else start
    surely = "survives" if assumed else "provably survives"
    more = "; and so on, see the bars" if len(told) > _NAMED else ""
    these = "this change" if len(known) == 1 else count
    text = f"{start} explanation of {whose} {surely} {these}: {'; '.join(told[:_NAMED])}{more}."
    return Verdict(kind, text, bars)


def _count(far: int, known: int, *, each: bool) -> str:
    """How many changes are survived; `each`: by at least half of several inputs, which need not be the same ones."""
    if each and far > 1:
        which = f"each of the {known} changes" if far == known else f"each of {far} of the {known} changes"
        return f"{which} (not always the same half)"
    every = "both changes" if known == 2 else f"all {known} changes"
    return every if far == known else f"{far} of {known} changes"


def _shared(one: ChangeSummary, key: str, total: int) -> Interval:
    """What at least half of all inputs keep, those that failed counted as keeping nothing."""
    known = one.reaches.get(key, [])
    return one.shared([*known, *[None] * (total - len(known))])


def _told(one: ChangeSummary, interval: Interval, *, named: bool = False) -> str:
    assert one.change is not None
    told = reach(one.change, interval, sizes=one.sizes).removeprefix("holds ").replace("holds", "yes")
    if not named:
        return told
    name, bare = title(one.change.spec).lower(), told.replace(" (the whole range tried)", ", the whole range tried")
    return name if told == "yes" else f"{name} ({bare})"


def _bar(one: ChangeSummary, key: str, shared: Interval, total: int, noun: str) -> Bar:
    change = one.change
    assert change is not None
    told = reach(change, shared, sizes=one.sizes)
    text = f"{told[0].upper()}{told[1:]}."
    if total > 1:
        nothing = "Proved for fewer than half of them, even without a change."
        half = f"At least half: {_told(one, shared)}." if shared else nothing
        text = f"{half.replace(' (the whole range tried)', '')} The whole range: {one.whole(key)} of {total} {noun}s."
    return Bar(
        title=title(change.spec),
        text=text,
        unit=change.unit,
        stops=default_stops(change.low, change.zero, change.high, one.sizes),
        zero=change.zero,
        proved=shared,
        assumed=bool(one.proofs["assumed"]),
    )
