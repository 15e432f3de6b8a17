"""The page: one HTML file with everything in it. Reads a run's records and computes no statistics of its own."""

from collections.abc import Mapping
from typing import Any

from attribound.certificates.finding import Finding
from attribound.report.shared import charts, images, wording
from attribound.report.shared.collect import Collected, collect
from attribound.report.shared.details import details
from attribound.report.shared.legend import legend_of
from attribound.report.shared.quantiles import drawn_cosines, quantiles
from attribound.report.shared.reasons import headline
from attribound.report.shared.templating import embedded, fill
from attribound.report.shared.verdict import Verdict, judge
from attribound.rounding import degrees, exact_text, round_down
from attribound.runs import Store, remarks

_SCRIPTS = ("core.js", "svg.js", "gallery.js", "mask.js", "charts.js", "download.js", "start.js")


def render(store: Store, scan: Mapping[str, Any] | None = None) -> str:
    """The page as text."""
    run = collect(store, scan)
    shown = details(store, run)
    noun = "image" if any(one["pictures"] for one in shown.values()) or run.of_pictures else "input"
    verdict = judge(run, noun)
    return fill(
        "page/templates/report.html",
        *_SCRIPTS,
        **_words(run, verdict, noun),
        name=store.path.name,
        command=wording.command(run.config, store.path.name),
        pictured=any(one["pictures"] for one in shown.values()),
        fractions=list(next(iter(run.trusted.values()))["fractions"]) if run.trusted else [],
        celled=any("cells" in one for one in shown.values()),
        listed=any("features" in one for one in shown.values()),
        data=embedded(_payload(run, verdict, shown, noun, store.path.name)),
    )


def _words(run: Collected, verdict: Verdict, noun: str) -> dict[str, Any]:
    """Everything that the template says in plain HTML."""
    return {
        "config": run.config,
        "version": "" if run.first is None else run.first.versions.get("attribound", ""),
        "verdict": verdict,
        "reasons": headline(run, noun),
        "answerable": run.proofs.scale.count > 0,
        "total": run.summary.total,
        "kept": len(run.kept),
        "noun": noun,
        "nouns": noun + "s",
        "word": run.word,
        "alarms": wording.alarms(run),
        "cautions": [one.remark.text for one in wording.cautions(run)],
        "counted": remarks.what_epsilon_counts(run.config.size).text,
        "notes": wording.notes(run),
        "facts": wording.facts(run, verdict),
        "quantiles": quantiles(run),
        "attacked": charts.Attacked.among(list(run.findings.values())).words(noun) if run.findings else "",
        "searched": any(one.settings.get("tightness") for one in run.findings.values()),
        "scan": run.scan,
        "legend": legend_of(run.config.attribution, run.config.maps),
        "clip": f"{100 * images.QUANTILE:g} %",
        "theorem": wording.theorem(run),
        "rules": wording.rules(run),
        "limits": wording.limits(run.config),
        "provenance": wording.provenance(run),
    }


def _payload(run: Collected, verdict: Verdict, shown: dict[int, Any], noun: str, name: str) -> dict[str, Any]:
    """Everything that the scripts read; rows are numbered as the table holds them."""
    proofs, place = run.proofs, {row: number for number, row in enumerate(run.kept)}
    columns = ("item", "input", "label", "prediction", "status", "rule", "note")
    rows: dict[str, Any] = {key: [getattr(run.rows[row], key) for row in run.kept] for key in columns}
    return {
        "rows": rows
        | {"epsilon": proofs.units[run.kept].tolist(), "visible": proofs.visible[run.kept].tolist()}
        | ({} if proofs.classes is None else {"held": proofs.classes[run.kept].tolist()}),
        "total": run.summary.total,
        "cosines": [exact_text(cosine) for cosine in proofs.cosines],
        "degrees": [degrees(cosine) for cosine in proofs.cosines],
        "scale": vars(proofs.scale),
        "counts": vars(verdict.counts),
        "start": {"cosine": verdict.cosine, "stop": verdict.stop},
        "drawn": drawn_cosines(run),
        "sentences": verdict.sentences,
        "cautions": [{"upto": one.upto, "above": one.above} for one in wording.cautions(run)],
        "noun": noun,
        "nouns": noun + "s",
        "size": run.config.size,
        "word": run.word,
        "guaranteed": run.word == "certified",
        "classes": dict(enumerate(run.classes)),
        "findings": {place[row]: _shown_finding(one) for row, one in run.findings.items() if row in place},
        "details": {place[row]: detail for row, detail in shown.items()},
        "charts": _charts(run),
        "config": run.config.to_json(),
        "download": vars(run.downloads),
        "file": "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name) or "records",
    }


def _shown_finding(one: Finding) -> dict[str, Any]:
    return {
        "epsilon": round_down(one.epsilon, 3),
        "certified": round_down(one.certified, 3),
        "worst": round_down(one.worst, 3),
        "method": one.method,
        "violated": one.violated,
        "kept": one.label_kept,
    }


def _charts(run: Collected) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if run.findings:
        found["band"] = charts.Attacked.among(list(run.findings.values())).chart()
    if run.scan and run.scan.levels:
        found["scan"] = charts.noise_levels(run.scan)
    return found
