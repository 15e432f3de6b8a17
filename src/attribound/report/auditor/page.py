"""The report for auditors: one static page to read, print, sign and archive. It computes no statistics of its own."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from typing import Any, final

from attribound.certificates.record import Record
from attribound.report.auditor import regulations
from attribound.report.shared import wording
from attribound.report.shared.charts import Attacked
from attribound.report.shared.collect import Collected, collect
from attribound.report.shared.curves import Units
from attribound.report.shared.details import details
from attribound.report.shared.legend import legend_of
from attribound.report.shared.quantiles import quantiles
from attribound.report.shared.templating import fill
from attribound.report.shared.verdict import Verdict, judge
from attribound.rounding import degrees, exact_text, in_units, round_down, round_up
from attribound.runs import Store, remarks

MOST_ROWS, MOST_EXAMPLES = 300, 6
"""How many records are listed and how many are drawn; the evidence pack holds all."""
_FEATURES = 10
_HEADINGS = {"certified": "Proved", "assumed": "Would follow from a guess", "claimed": "Claimed, not to be trusted"}
_TRUST = {"hot": "proved among the largest", "cold": "proved not among the largest", "open": "unproved", "": ""}


@final
@dataclass(frozen=True)
class Audit:
    """A run as an auditor reads it.

    Attributes:
        run: what the run holds.
        verdict: what its first sentence says.
        noun: what an input is called.
        name: the run's folder.
        records_sha256: over all stored records.
        written: when the run's file was last written.
        today: when the report was made.
    """

    run: Collected
    verdict: Verdict
    noun: str
    name: str
    records_sha256: str
    written: datetime
    today: datetime

    @property
    def epsilon(self) -> int:
        """The size of change in question, in units."""
        return (self.verdict.stop + 1) * self.run.proofs.scale.step

    @property
    def cosine(self) -> float:
        """The cosine in question."""
        return self.run.proofs.cosines[self.verdict.cosine]

    @property
    def proved(self) -> int:
        """Inputs for which the question is proved."""
        return sum(map(self._reaches, range(len(self.reached))))

    @cached_property
    def reached(self) -> Units:
        """(N,) up to which change it is proved, in units: the same that the verdict counts."""
        return self.verdict.reached(self.run.proofs)

    def _reaches(self, row: int) -> bool:
        return int(self.reached[row]) >= self.epsilon > 0

    def outcome(self, row: int) -> str:
        """In the words of ISO/IEC 24029-2.

        A record that is not as it should be proves nothing to an auditor, and nothing does in a run whose limit is
        assumed or one of whose certificates was broken.
        """
        run, finding = self.run, self.run.findings.get(row)
        if finding is not None and finding.violated:
            return "counterexample"
        sound = run.word == "certified" and run.rows[row].item not in run.summary.doubtful
        return "proof" if self._reaches(row) and sound else "inconclusive"

    @property
    def outcomes(self) -> Counter[str]:
        """How many of all inputs have which outcome."""
        return Counter(map(self.outcome, range(len(self.run.rows))))

    @property
    def shown_epsilon(self) -> str:
        """The size of change in question."""
        return in_units(self.epsilon, self.run.proofs.scale.digits)

    @property
    def question(self) -> str:
        """In words."""
        kept = "the smoothed model's class and a cosine" if self.verdict.joint else "a cosine"
        return f"{kept} of at least {exact_text(self.cosine)} under every change up to epsilon {self.shown_epsilon}"


def read(store: Store) -> Audit:
    """What an auditor reads about a run."""
    run = collect(store)
    noun = "image" if run.of_pictures else "input"
    digest = hashlib.sha256()
    for text in store.texts():
        digest.update(text.encode() + b"\n")
    written = datetime.fromtimestamp(store.file.stat().st_mtime, UTC)
    return Audit(run, judge(run, noun), noun, store.path.name, digest.hexdigest(), written, datetime.now(UTC))


def render(store: Store, by: str = "") -> str:
    """The page as text."""
    audit = read(store)
    run = audit.run
    return fill(
        "auditor/templates/audit.html",
        audit=audit,
        identity=_identity(audit, by),
        summary=_summary(audit),
        proved=_proved(audit),
        attacked=_attacked(audit),
        unknown=_unknown(audit),
        quantiles=quantiles(run),
        word=run.word,
        heading=_HEADINGS[run.word],
        alarms=wording.alarms(run),
        examples=_examples(store, audit),
        legend=legend_of(run.config.attribution, run.config.maps),
        rows=[_row(audit, row) for row in run.kept[:MOST_ROWS]],
        clauses=regulations.clauses(run, audit.question, audit.outcomes),
        disclaimer=regulations.DISCLAIMER,
        theorem=wording.theorem(run),
        limits=wording.limits(run.config),
        command=wording.command(run.config, audit.name),
        version=version("attribound"),
        today=audit.today.date().isoformat(),
    )


def _identity(audit: Audit, by: str) -> list[wording.Fact]:
    """Who, what, how, with hashes."""
    run, config = audit.run, audit.run.config
    named = ("Model", "Data", "Explanation", "Noise", "How the limit is known", "Failure probability", "Records")
    known = {fact["name"]: fact for fact in wording.facts(run, audit.verdict)}
    first = [
        wording.fact("Report made", f"{audit.today:%Y-%m-%d %H:%M} UTC by attribound {version('attribound')}"),
        wording.fact("Responsible", by or "not stated"),
        wording.fact("Run", f"{audit.name}, last written {audit.written:%Y-%m-%d %H:%M} UTC"),
    ]
    hashes = [wording.fact("Records SHA-256", audit.records_sha256, code=True)]
    if config.code_sha256:
        hashes.append(wording.fact("Code SHA-256", config.code_sha256, code=True))
    tried = {json.dumps(one.settings, sort_keys=True): None for one in run.findings.values()}
    attacks = [wording.fact("How it was attacked", "; ".join(tried), code=True)] if tried else []
    return [*first, *(known[name] for name in named), *wording.provenance(run), *attacks, *hashes]


def _summary(audit: Audit) -> list[str]:
    """The run in plain language."""
    run, verdict, noun = audit.run, audit.verdict, audit.noun
    found = [
        f"A computer model sorts {noun}s into classes. For each {noun} it can also show why: a map of which parts "
        "spoke for the class. Small changes that nobody notices may turn such a map into another one. This report says "
        "how far that is ruled out.",
        verdict.text,
    ]
    if run.proofs.scale.count and run.first is not None:
        found.append(_size(audit, run.first))
    return [*found, *filter(None, (verdict.apart, verdict.seen, verdict.chance))]


def _size(audit: Audit, record: Record) -> str:
    """What that epsilon and that cosine mean to somebody who thinks in values and degrees."""
    each = round_up(float(audit.shown_epsilon) / math.sqrt(record.dim), 4)
    unit = " (in units of each value's own scale)" if record.noise.units else ""
    values = "changes" if audit.run.config.together else f"values of the {audit.noun}"
    return (
        f"How large is that? A change of size epsilon {audit.shown_epsilon} can be spread over all {record.dim:,} "
        f"{values}, about {each} each, or be {audit.shown_epsilon} in a single one{unit}. A turn of "
        f"{degrees(audit.cosine)} degrees is the most by which the map may change its direction; at 90 degrees it "
        "would be an unrelated map."
    )


def _proved(audit: Audit) -> list[str]:
    run = audit.run
    if not run.proofs.scale.count:
        return ["Nothing is proved in this run."]
    found = [f"{audit.question[0].upper()}{audit.question[1:]}: {audit.proved} of {run.summary.total} {audit.noun}s."]
    if run.assumed:
        found.insert(0, remarks.ASSUMED.text)
    found += [f"{claim}." for claim in run.summary.claims]
    if run.proofs.classes is not None:
        held = int((run.proofs.classes >= audit.epsilon).sum())
        found.append(f"The class of the smoothed model stays for {held} of {run.summary.total} at that size of change.")
    if run.trusted:
        found.append(
            "Single cells of the maps: the examples show which provably stay among the largest, or out of them."
        )
    return [*found, wording.rules(run)]


def _attacked(audit: Audit) -> list[str]:
    findings = list(audit.run.findings.values())
    if not findings:
        return [
            "No attack was made in this run. `attribound attack` searches for changes that break what is certified."
        ]
    methods = Counter(one.method for one in findings)
    worst = min(findings, key=lambda one: one.gap)
    found = [
        Attacked.among(findings).words(audit.noun),
        f"Certificates broken: {len(audit.run.violated)}. Closest call: {audit.noun} {worst.item}, worst cosine found "
        f"{round_down(worst.worst, 3)}, certified {round_down(worst.certified, 3)}.",
        f"Which method came closest: {', '.join(f'{name} for {count}' for name, count in methods.most_common())}.",
    ]
    skipped = sorted({f"{name} ({why})" for one in findings for name, why in one.skipped.items()})
    return [*found, *([f"Not applicable: {', '.join(skipped)}."] if skipped else [])]


def _unknown(audit: Audit) -> list[str]:
    """What may not be concluded from this run."""
    run, total = audit.run, audit.run.summary.total
    left = total - audit.proved
    found = [f"{left} of {total} {audit.noun}s: not proved, which does not mean that it is false."] if left else []
    found += [
        f"Changes whose {run.config.size} is larger than epsilon"
        + (", and all other changes." if run.config.together else "; turning or cropping a picture is such a change."),
        f"{audit.noun.capitalize()}s that are not in this run.",
        "Whether the explanation is right: a stable map can be wrong.",
    ]
    if len(run.findings) < total:
        found.append(
            f"How close the proofs are to the truth for {total - len(run.findings)} {audit.noun}s: not attacked."
        )
    doubts = remarks.cautions_about([audit.cosine], run.summary.chance, run.summary.fidelity)
    return [*found, *(remark.text for remark in doubts), *wording.notes(run)]


def _row(audit: Audit, row: int) -> dict[str, Any]:
    run, one = audit.run, audit.run.rows[row]
    units = int(audit.reached[row])
    finding = run.findings.get(row)
    return {
        "item": f"{one.item} ({one.input})" if one.input else str(one.item),
        "label": _class(run, one.label),
        "predicted": _class(run, one.prediction),
        "status": one.status,
        "epsilon": "" if one.status == "error" else in_units(units, run.proofs.scale.digits),
        "outcome": audit.outcome(row),
        "attack": "" if finding is None else f"{round_down(finding.worst, 3)} at {round_down(finding.epsilon, 3)}",
        "note": one.note,
    }


def _class(run: Collected, number: int | None) -> str:
    if number is None:
        return "unknown"
    return run.classes[number] if 0 <= number < len(run.classes) else str(number)


def _examples(store: Store, audit: Audit) -> list[dict[str, Any]]:
    """Attacked inputs first, then those that are certified least."""
    run = audit.run
    order = sorted(run.drawn, key=lambda row: (row not in run.findings, audit.reached[row]))
    chosen = order[:MOST_EXAMPLES]
    shown = details(store, replace(run, drawn=chosen))
    return [_example(audit, row, shown[row]) for row in chosen if shown[row]["pictures"] or "features" in shown[row]]


def _example(audit: Audit, row: int, detail: dict[str, Any]) -> dict[str, Any]:
    found = _row(audit, row) | {"pictures": detail["pictures"], "over": "cells" in detail, "mask": None, "features": []}
    note = "" if audit.run.word == "certified" else f"{audit.run.word.upper()}: "
    found["said"] = {about: note + text for about, text in detail["said"].items()}
    found["cosines"] = detail["cosines"]
    found["change"] = detail.get("change")
    votes = detail["votes"]
    if votes and len(votes["shape"]) == 2 and "input" in detail["pictures"]:
        part, cells = next(iter(votes["fractions"].items()))
        marks = [_mark(units, audit.epsilon) for units in cells]
        found["mask"] = {
            "width": votes["shape"][1],
            "height": votes["shape"][0],
            "cells": [(mark, at % votes["shape"][1], at // votes["shape"][1]) for at, mark in enumerate(marks)],
            "words": f"trust mask (largest {float(part):.0%}): {marks.count('hot')} cells proved hot, "
            f"{marks.count('cold')} cold, {marks.count('open')} unproved",
        }
    if features := detail.get("features"):
        cells = next(iter(votes["fractions"].values())) if votes else []
        marks = [_mark(cells[at], audit.epsilon) if cells else "" for at in features["places"]]
        found["features"] = _features(features, marks)
    return found


def _mark(units: int, epsilon: int) -> str:
    if units == 0 or abs(units) < epsilon:
        return "open"
    return "hot" if units > 0 else "cold"


def _features(features: dict[str, Any], marks: Sequence[str]) -> list[dict[str, Any]]:
    """The largest features by name, with what is proved about each of them."""
    columns: dict[str, list[float]] = features["values"]
    return [
        {"name": name, "values": {kind: f"{values[at]:+.3f}" for kind, values in columns.items()}, "mark": _TRUST[mark]}
        for at, (name, mark) in enumerate(zip(features["names"][:_FEATURES], marks, strict=False))
    ]
