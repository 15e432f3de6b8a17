"""The first thing that the page says: how far pictures may change, for how many of them."""

from dataclasses import dataclass
from typing import final

from attribound.report.shared.bars import Bar
from attribound.report.tolerance.rows import default_stops
from attribound.report.tolerance.words import reach, title
from attribound.runs.tolerance_summary import ChangeSummary, ToleranceSummary


@final
@dataclass(frozen=True)
class Verdict:
    """What a run says at one cosine.

    Attributes:
        kind: "proved", "warning" or "nothing".
        text: the first sentence.
        bars: for each change, what at least half of the inputs keep.
    """

    kind: str
    text: str
    bars: list[Bar]


def judge(summary: ToleranceSummary, key: str, noun: str) -> Verdict:
    """The verdict at one of the cosines asked.

    Args:
        summary: the run.
        key: the cosine.
        noun: what the inputs are.
    """
    bars = [_bar(one, name, key, summary.inputs, noun) for name, one in summary.changes.items() if one.change]
    count = sum(bar.proved is not None and bar.proved[0] < bar.proved[1] for bar in bars)
    weak = bool(summary.doubtful) or any(bar.assumed for bar in bars)
    kind = "nothing" if not count else "warning" if weak else "proved"
    return Verdict(kind, _sentence(summary, count, len(bars), noun, any(bar.assumed for bar in bars)), bars)


def _sentence(summary: ToleranceSummary, count: int, changes: int, noun: str, assumed: bool) -> str:
    total = summary.inputs
    if not total:
        return "This run has no records yet."
    whose = f"this {noun}" if total == 1 else f"at least half of the {total} {noun}s"
    if not count:
        return f"Nothing is proved about the explanation of {whose}, under none of {changes} changes."
    so = f"under {count} of {changes} changes" if count < changes else f"under all {changes} changes"
    only = "one change" if changes == 1 else so.removeprefix("under ")
    if assumed:
        return f"If the ASSUMED limit is right, the explanation of {whose} survives {only}, as far as the bars show."
    return f"The explanation of {whose} provably survives {only}, as far as the bars show."


def _bar(one: ChangeSummary, name: str, key: str, total: int, noun: str) -> Bar:
    """What at least half of all inputs keep, those that failed counted as keeping nothing."""
    change, known = one.change, one.reaches.get(key, [])
    assert change is not None
    median = one.median([*known, *[None] * (total - len(known))])
    told = reach(change, median, sizes=one.sizes)
    if total == 1:
        text = f"{told[0].upper()}{told[1:]}."
    else:
        half = f"For at least half it {told}." if median else "For fewer than half anything is proved."
        text = f"{half} All that was tried holds for {one.whole(key)} of {total} {noun}s."
    return Bar(
        title=title(name),
        text=text,
        unit=change.unit,
        stops=default_stops(change.low, change.zero, change.high, one.sizes),
        zero=change.zero,
        proved=median,
        assumed=bool(one.proofs["assumed"]),
    )
