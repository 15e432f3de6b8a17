"""The page: one HTML file with everything in it. Reads a run's records and computes no statistics of its own."""

import base64
import hashlib
import json
import math
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup

from attribound.certificate import exact_text, round_down
from attribound.report import charts, images, wording
from attribound.report.collect import Collected, collect
from attribound.report.details import details
from attribound.report.verdict import Verdict, degrees, in_units, judge
from attribound.runs import Store

_SCRIPTS = ("core.js", "gallery.js", "charts.js", "download.js", "start.js")
_DRAWN = (0.5, 0.7, 0.8, 0.9, 0.95)
_SHARES = (0.9, 0.75, 0.5, 0.25, 0.1)


def write_report(run: Path, out: Path | None = None, *, scan: Mapping[str, Any] | None = None) -> Path:
    """Write the report of a run as one self-contained HTML file; it appears whole or not at all.

    Args:
        run: folder of the run.
        out: the file; default: report.html in the run.
        scan: noise levels that `attribound tune` tried; default: what the run remembers.

    Returns:
        The file.
    """
    target = run / "report.html" if out is None else out
    with Store.read(run) as store:
        page = render(store, scan)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + ".partial")
    partial.write_text(page, encoding="utf-8", newline="\n")
    partial.replace(target)
    return target


def render(store: Store, scan: Mapping[str, Any] | None = None) -> str:
    """The page as text."""
    run = collect(store, scan)
    shown = details(store, run)
    noun = "image" if any(one["pictures"] for one in shown.values()) or run.of_pictures else "input"
    verdict = judge(run, noun)
    scripts = [charts.library(), _own_script()]
    return (
        _environment()
        .get_template("report.html")
        .render(
            **_words(run, verdict, noun),
            policy=_policy(scripts),
            name=store.path.name,
            command=wording.command(run.summary.config, store.path.name),
            pictured=any(one["pictures"] for one in shown.values()),
            images=noun == "image",
            css=Markup(_environment().get_template("style.css").render(stops=", ".join(images.STOPS))),
            data=embedded(_payload(run, verdict, shown, noun, store.path.name)),
            scripts=[Markup(script) for script in scripts],
        )
    )


def embedded(value: Any) -> Markup:
    """JSON that is safe inside a script element: no character of it can end the element or begin a comment."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _words(run: Collected, verdict: Verdict, noun: str) -> dict[str, Any]:
    """Everything that the template says in plain HTML."""
    return {
        "config": run.summary.config,
        "versions": run.versions or {"attribound": ""},
        "verdict": verdict,
        "answerable": verdict.top > 0,
        "total": run.summary.total,
        "noun": noun,
        "nouns": noun + "s",
        "feature": "pixel" if noun == "image" else "feature",
        "word": _word(run),
        "alarms": wording.alarms(run),
        "notes": wording.notes(run),
        "facts": wording.facts(run),
        "quantiles": _quantiles(run, verdict),
        "attacked": _attacked(run, noun),
        "scan": run.scan,
        "clip": f"{100 * images.QUANTILE:g} %",
        "theorem": wording.theorem(run),
        "rules": wording.rules(run),
        "limits": wording.LIMITS,
        "provenance": wording.provenance(run),
    }


def _word(run: Collected) -> str:
    """What a number may be called."""
    return "assumed" if run.assumed else "claimed" if run.paper or run.violated else "certified"


def _payload(run: Collected, verdict: Verdict, shown: dict[int, Any], noun: str, name: str) -> dict[str, Any]:
    """Everything that the scripts read."""
    cosines, rows = run.proofs.cosines, run.rows
    columns = ("item", "label", "prediction", "status", "rule", "note")
    return {
        "rows": {key: [getattr(row, key) for row in rows] for key in columns} | {"epsilon": verdict.units},
        "cosines": [exact_text(cosine) for cosine in cosines],
        "degrees": [degrees(cosine) for cosine in cosines],
        "digits": verdict.digits,
        "start": {"cosine": verdict.cosine, "epsilon": verdict.epsilon},
        "step": verdict.step,
        "top": max(verdict.top, 1),
        "sentences": verdict.sentences,
        "noun": noun,
        "nouns": noun + "s",
        "word": _word(run),
        "guaranteed": _word(run) == "certified",
        "classes": dict(enumerate(run.classes)),
        "findings": {row: _shown_finding(one) for row, one in run.findings.items()},
        "details": shown,
        "grid": [float(round_down(epsilon, verdict.digits + 2)) for epsilon in run.proofs.grid.tolist()],
        "charts": _charts(run, verdict),
        "config": run.summary.config.to_json(),
        "download": {"shared": run.shared, "columns": run.columns},
        "file": "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name) or "records",
    }


def _shown_finding(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "epsilon": round_down(one["epsilon"], 3),
        "certified": round_down(one["certified"], 3),
        "worst": f"{one['worst']:.3f}",
        "method": one["method"],
        "violated": one["violated"],
    }


def _drawn(run: Collected) -> list[int]:
    """Which cosines get a line: the run's own and a few others."""
    wanted = {*_DRAWN, *run.summary.config.cosines[:3]}
    return [number for number, cosine in enumerate(run.proofs.cosines) if cosine in wanted][:6]


def _charts(run: Collected, verdict: Verdict) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if verdict.top > 0:
        drawn = _drawn(run)
        reach = float(run.proofs.epsilons[:, drawn].max()) * 1.04
        cosines = [run.proofs.cosines[number] for number in drawn]
        found["fractions"] = charts.fractions(cosines, run.proofs.epsilons[:, drawn], reach or 1.0)
    if run.findings:
        proved, broken, cosine = _proved_and_broken(run)
        found["band"] = charts.band(proved, broken, cosine)
    if run.scan and run.scan["levels"]:
        found["scan"] = charts.noise_levels(run.scan)
    return found


def _proved_and_broken(run: Collected) -> tuple[list[float], list[float | None], float]:
    """Per attacked input the proved and the broken epsilon, and the cosine that was attacked."""
    cosine = round(float(np.median([one["certified"] for one in run.findings.values()])), 6)
    proved = [one["epsilon"] if one["certified"] >= cosine - 1e-6 else 0.0 for one in run.findings.values()]
    return proved, [one["broken_at"] for one in run.findings.values()], cosine


def _attacked(run: Collected, noun: str) -> dict[str, str] | None:
    if not run.findings:
        return None
    proved, broken, cosine = _proved_and_broken(run)
    seen = [one for one in broken if one is not None]
    tight = [p / b for p, b in zip(proved, broken, strict=True) if b]
    text = f"Attacked at cosine {cosine:g}: {len(proved)} {noun}(s); broken at a larger epsilon: {len(seen)}."
    if tight:
        text += f" In the median, {100 * float(np.median(tight)):.0f} % of the breaking epsilon is proved."
    return {"text": text}


def _quantiles(run: Collected, verdict: Verdict) -> dict[str, Any]:
    """For a few cosines, the epsilon that so many of all inputs reach; rounded down."""
    rows = []
    for column in _drawn(run) if verdict.units else []:
        budgets = sorted((row[column] for row in verdict.units), reverse=True)
        units = [budgets[math.ceil(share * len(budgets)) - 1] for share in _SHARES]
        cosine = run.proofs.cosines[column]
        reached = [in_units(value, verdict.digits) for value in units]
        rows.append({"cosine": exact_text(cosine), "degrees": degrees(cosine), "reached": reached})
    return {"shares": [f"{100 * share:.0f} %" for share in _SHARES], "rows": rows}


def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("attribound.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _own_script() -> str:
    folder = resources.files("attribound.report") / "templates"
    parts = [(folder / name).read_text(encoding="utf-8") for name in _SCRIPTS]
    return "(() => {\n'use strict';\n" + "\n".join(parts) + "})();"


def _policy(scripts: list[str]) -> str:
    """Nothing is loaded, and no script runs but the two that were put here."""
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{one}'" for one in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
