"""The verdict of a run in plain words. The page fills the same sentences again when its sliders move."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from attribound.report.shared.collect import Collected
from attribound.report.shared.curves import Proofs, Units
from attribound.rounding import degrees, exact_text, in_units, lower_quantile
from attribound.runs import remarks

_PREFERRED = 0.8
_SHARE = 0.1

_SOME = (
    "For {count} of {total} {nouns}{right}, no change of size up to epsilon {epsilon} can turn the explanation by more "
    "than {degrees} degrees (cosine {cosine})."
)
_JOINT = (
    "For {joint} of {total} {nouns}{right}, no change of size up to epsilon {epsilon} alters the smoothed model's class"
    "{cells} turns the explanation by more than {degrees} degrees (cosine {cosine}){marks}."
)
_MARKS = ", or moves any of the {marked} marked cells"
_APART = "The explanation alone, even if the class changes, turns no further for {count} of {total}."
_RIGHT = " ({correct} of them classified correctly)"
_NONE = (
    "For none of the {total} {nouns} is it proved that changes of size up to epsilon {epsilon} turn the explanation by "
    "at most {degrees} degrees (cosine {cosine})."
)
_SEEN = (
    "That is about exact averages. For maps as they are sampled and compared, the same holds for {visible} of {total}."
)
_ASSUMED = "Not a certificate: the limit is assumed, not proved. If it were true: "
BROKEN = "Do not trust this run: an attack broke a certificate. It claims: "


@final
@dataclass(frozen=True)
class Counts:
    """How many inputs hold at each cosine and stop: exact, also where the page's table holds only some records.

    Attributes:
        holds: (C, S) inputs whose certificate holds.
        correct: (C, S) of these, inputs that are classified as labelled.
        visible: (C, S) inputs for which it holds for maps as sampled.
        joint: (C, S) inputs whose class is proved to stay, too; empty if the run did not ask.
        joint_correct: (C, S) of these, inputs that are classified as labelled.
    """

    holds: list[list[int]]
    correct: list[list[int]]
    visible: list[list[int]]
    joint: list[list[int]]
    joint_correct: list[list[int]]


@final
@dataclass(frozen=True)
class Verdict:
    """What the first screen says.

    Attributes:
        kind: "proved", "warning", "broken" or "nothing".
        text: the sentence at the start.
        seen: the sentence about maps as sampled at the start; empty if there is nothing to say.
        chance: what the failure probability means.
        apart: the sentence about the map without the class at the start; empty if there is nothing to say.
        sentences: "joint", "some", "none", "apart" and "seen", with places for what changes with the sliders.
        counts: how many hold, wherever the sliders stand.
        cosine: number of the cosine at the start.
        stop: number of the epsilon at the start.
        joint: whether the sentence at the start speaks of class and map together.
        choice: why the epsilon at the start is that one.
    """

    kind: str
    text: str
    seen: str
    chance: str
    apart: str
    sentences: dict[str, str]
    counts: Counts
    cosine: int
    stop: int
    joint: bool
    choice: str

    def reached(self, proofs: Proofs) -> Units:
        """(N,) up to which change, in units, what the first sentence says is proved: one definition for all rows."""
        return reach(proofs, self.cosine, joint=self.joint)


def reach(proofs: Proofs, column: int, *, joint: bool) -> Units:
    """(N,) largest epsilon, in units, at which a cosine is proved; with `joint`, at which the class is proved, too."""
    alone = proofs.units[:, column]
    return np.minimum(alone, proofs.classes) if joint and proofs.classes is not None else alone


def judge(run: Collected, noun: str) -> Verdict:
    """The verdict at the epsilon that nine of ten certified inputs reach, together with their class if it is known."""
    proofs, config, scale = run.proofs, run.config, run.proofs.scale
    wanted = _PREFERRED if _PREFERRED in config.cosines else config.cosines[0]
    column = proofs.cosines.index(wanted)
    together = bool((reach(proofs, column, joint=True) > 0).any())
    reached = reach(proofs, column, joint=together)
    usual = int(lower_quantile(reached[reached > 0].tolist(), _SHARE))
    stop = max(usual // scale.step, 1) - 1
    counts = _counts(run)
    sentences = _sentences(run, noun)
    values = _values(run, counts, column, stop)
    special, some, joint = _text(run), values["count"] > 0, values["joint"] > 0
    kind = "joint" if joint else "some" if some else "none"
    if joint:
        values["correct"] = values["joint_correct"]
    filled = {key: sentence.format(**values) for key, sentence in sentences.items()}
    return Verdict(
        kind=_kind(run),
        text=special or filled[kind],
        seen="" if special or not some else filled["seen"],
        chance="" if special or not scale.count else _alpha(run),
        apart=filled["apart"] if joint and values["count"] > values["joint"] and not special else "",
        sentences=sentences,
        counts=counts,
        cosine=column,
        stop=stop,
        joint=joint,
        choice=_choice(run, values, column, noun) if scale.count else "",
    )


def _alpha(run: Collected) -> str:
    return remarks.what_alpha_means(run.alpha, run.summary.total, run.config.simultaneous).text


def _choice(run: Collected, values: dict[str, Any], column: int, noun: str) -> str:
    """Why the verdict starts at its epsilon: not the median, but what nearly every certified input reaches."""
    joint = values["joint"] > 0
    count, together = (values["joint"], " with their class") if joint else (values["count"], "")
    some = int((reach(run.proofs, column, joint=joint) > 0).sum())
    return (
        f"{values['epsilon']}, reached by {count} of the {some} {noun}s {run.word} at cosine "
        f"{values['cosine']}{together}. Nine in ten of them reach it; a median is what at least half of all reach"
    )


def _values(run: Collected, counts: Counts, column: int, stop: int) -> dict[str, Any]:
    """What the sentences say at the start."""
    scale, cosine = run.proofs.scale, run.proofs.cosines[column]
    tables = {"count": counts.holds, "correct": counts.correct, "visible": counts.visible}
    tables |= {"joint": counts.joint, "joint_correct": counts.joint_correct}
    return {
        "epsilon": in_units((stop + 1) * scale.step, scale.digits),
        "cosine": exact_text(cosine),
        "degrees": degrees(cosine),
        "marked": marked(run, column, (stop + 1) * scale.step),
        **{name: table[column][stop] if scale.count and table else 0 for name, table in tables.items()},
    }


def marked(run: Collected, column: int, epsilon: int) -> int:
    """Cells proved hot or cold at that epsilon, in units, in the drawn inputs that hold together with their class."""
    if run.proofs.classes is None:
        return 0
    holding = [row for row in run.trusted if min(run.proofs.units[row, column], run.proofs.classes[row]) >= epsilon]
    return sum(abs(units) >= epsilon for row in holding for units in next(iter(run.trusted[row]["fractions"].values())))


def _counts(run: Collected) -> Counts:
    proofs = run.proofs
    right = np.array([row.correct for row in run.rows], bool)
    joint = None if proofs.classes is None else np.minimum(proofs.units, proofs.classes[:, None])
    return Counts(
        holds=_reaching(proofs.units, run),
        correct=_reaching(proofs.units[right], run),
        visible=_reaching(proofs.visible, run),
        joint=[] if joint is None else _reaching(joint, run),
        joint_correct=[] if joint is None else _reaching(joint[right], run),
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
    known |= {"cells": ",", "marks": _MARKS} if run.trusted else {"cells": " or", "marks": ""}
    start = BROKEN if run.violated else _ASSUMED if run.assumed else ""
    found = {}
    for key, text in (("joint", _JOINT), ("some", _SOME), ("none", _NONE), ("apart", _APART), ("seen", _SEEN)):
        for name, value in known.items():
            text = text.replace(f"{{{name}}}", value)
        leads = start and key in ("joint", "some", "none")
        found[key] = start + text[0].lower() + text[1:] if leads else text
    return found
