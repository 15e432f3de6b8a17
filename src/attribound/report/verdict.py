"""The verdict of a run in plain words. The page fills the same sentences again when its sliders move."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import final

import numpy as np

from attribound.report.collect import Collected
from attribound.report.curves import Units
from attribound.rounding import confidence, degrees, exact_text, in_units, lower_quantile

_PREFERRED = 0.8
_SHARE = 0.1

_SOME = (
    "For {count} of {total} {nouns}{right}, no change of size up to epsilon {epsilon} can turn the explanation by more "
    "than {degrees} degrees (cosine {cosine})."
)
_RIGHT = " ({correct} of them classified correctly)"
_NONE = (
    "For none of the {total} {nouns} is it proved that changes of size up to epsilon {epsilon} turn the explanation by "
    "at most {degrees} degrees (cosine {cosine})."
)
_SEEN = (
    "That is about exact averages. For the maps as they are sampled and compared, it holds for {visible} of {total}."
)
_EACH = (
    "Each certificate is false with probability at most {alpha}, so of the {total} tried at most {expected} "
    "are expected to be false. Among those picked because they passed, the share may be larger."
)
_AT_ONCE = "All {total} certificates are true at once with probability at least {confidence}."
_ASSUMED = "Not a certificate: the limit is assumed, not proved. If it were true: "
_BROKEN = "Do not trust this run: an attack broke a certificate. It claims: "


@final
@dataclass(frozen=True)
class Counts:
    """How many inputs hold at each cosine and stop: exact, also where the page's table holds only some records.

    Attributes:
        holds: (C, S) inputs whose certificate holds.
        correct: (C, S) of these, inputs that are classified as labelled.
        visible: (C, S) inputs for which it holds for maps as sampled.
    """

    holds: list[list[int]]
    correct: list[list[int]]
    visible: list[list[int]]


@final
@dataclass(frozen=True)
class Verdict:
    """What the first screen says.

    Attributes:
        kind: "proved", "warning", "broken" or "nothing".
        text: the sentence at the start.
        seen: the sentence about maps as sampled at the start; empty if there is nothing to say.
        chance: what the failure probability means.
        sentences: "some", "none" and "seen", with places for count, correct, visible, epsilon, cosine and degrees.
        counts: how many hold, wherever the sliders stand.
        cosine: number of the cosine at the start.
        stop: number of the epsilon at the start.
    """

    kind: str
    text: str
    seen: str
    chance: str
    sentences: dict[str, str]
    counts: Counts
    cosine: int
    stop: int


def judge(run: Collected, noun: str) -> Verdict:
    """The verdict about a run at the epsilon that nine of ten certified inputs reach."""
    proofs, config, scale = run.proofs, run.config, run.proofs.scale
    wanted = _PREFERRED if _PREFERRED in config.cosines else config.cosines[0]
    column = proofs.cosines.index(wanted)
    budgets = proofs.units[:, column]
    usual = int(lower_quantile(budgets[budgets > 0].tolist(), _SHARE))
    stop = max(usual // scale.step, 1) - 1
    counts = _counts(run)
    sentences = _sentences(run, noun)
    values = {
        "epsilon": in_units((stop + 1) * scale.step, scale.digits),
        "cosine": exact_text(wanted),
        "degrees": degrees(wanted),
        **{
            name: table[column][stop] if scale.count else 0
            for name, table in (("count", counts.holds), ("correct", counts.correct), ("visible", counts.visible))
        },
    }
    special = _text(run)
    text = special or sentences["some" if values["count"] else "none"].format(**values)
    seen = "" if special or not values["count"] else sentences["seen"].format(**values)
    chance = "" if special or not scale.count else chance_words(run)
    return Verdict(_kind(run), text, seen, chance, sentences, counts, column, stop)


def chance_words(run: Collected) -> str:
    """What alpha means for the certificates of a run, all of those that were tried."""
    config, total = run.config, run.summary.total
    if config.simultaneous:
        shared = Decimal(repr(run.alpha)) * max(config.simultaneous, total)
        if shared < 1:
            return _AT_ONCE.format(total=total, confidence=confidence(float(shared)))
    expected = Decimal(repr(run.alpha)) * total
    return _EACH.format(alpha=exact_text(run.alpha), total=total, expected=f"{expected.normalize():f}")


def _counts(run: Collected) -> Counts:
    proofs = run.proofs
    right = np.array([row.correct for row in run.rows], bool)
    return Counts(
        holds=_reaching(proofs.units, run),
        correct=_reaching(proofs.units[right], run),
        visible=_reaching(proofs.visible, run),
    )


def _reaching(units: Units, run: Collected) -> list[list[int]]:
    """(C, S) how many rows reach each stop."""
    scale = run.proofs.scale
    stops = scale.step * np.arange(1, scale.count + 1)
    ordered: Sequence[Units] = [np.sort(column) for column in units.T]
    return [(len(column) - np.searchsorted(column, stops, side="left")).tolist() for column in ordered]


def _kind(run: Collected) -> str:
    if run.violated:
        return "broken"
    if not run.proofs.scale.count:
        return "nothing"
    return "warning" if run.assumed else "proved"


def _text(run: Collected) -> str:
    """What there is to say when there is nothing to ask."""
    counts, total = run.summary.counts, run.summary.total
    if total == 0:
        return "This run has no records yet: nothing is proved."
    if counts.get("error", 0) == total:
        inputs = "The only input" if total == 1 else f"All {total} inputs"
        return f"{inputs} failed: nothing is proved."
    return ""


def _sentences(run: Collected, noun: str) -> dict[str, str]:
    total = run.summary.total
    known = {"total": str(total), "nouns": noun if total == 1 else noun + "s", "right": _RIGHT if run.labelled else ""}
    start = _BROKEN if run.violated else _ASSUMED if run.assumed else ""
    found = {}
    for key, text in (("some", _SOME), ("none", _NONE), ("seen", _SEEN)):
        for name, value in known.items():
            text = text.replace(f"{{{name}}}", value)
        found[key] = start + text[0].lower() + text[1:] if start and key != "seen" else text
    return found
