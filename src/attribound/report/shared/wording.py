"""The words around the numbers of the page: facts, notes, the theorem, and the command that repeats the run."""

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from attribound.bounds.rules import RULES
from attribound.certificates.statements.registry import STATEMENTS
from attribound.certificates.subject import called
from attribound.report.shared.collect import Collected
from attribound.report.shared.verdict import Verdict
from attribound.rounding import confidence, exact_text, in_units, lower_quantile, percent, round_down
from attribound.runs import RunConfig, remarks
from attribound.runs.remarks import Caution

IN_PYTHON = "made in Python"
"""What stands for model and data where certificates have no run."""

_LIMITS = (
    "It is about the smoothed map, the exact average over noise. Nothing is proved about the plain map beside it. For "
    'smoothed maps as they are sampled, only the numbers called "as sampled" hold.',
    "It covers every change of the input whose {size} is at most epsilon, and no larger ones.",
    "It says that the explanation is stable, not that it is right.",
    "It assumes finite attributions everywhere, ideal noise, and rows of a batch that do not see each other.",
)

_MADE_SO = (
    "It is about inputs made from this one by these changes, one after the other in the order stated, and about the "
    "average over random amounts around them. Such changes do not exactly add up, so the program may not find "
    "exactly this map if it is given an input that somebody else changed."
)

Fact = dict[str, Any]


def limits(config: RunConfig) -> list[str]:
    """What a certificate does not say."""
    made = [_MADE_SO] if config.together else []
    return [line.format(size=config.size) for line in _LIMITS] + made


def theorem(run: Collected) -> list[str]:
    """The theorem in three sentences."""
    return [
        "The explanation is an average: the attribution is computed at many noisy copies of the input, and the exact "
        "average over all such noise is called the smoothed map.",
        "A change of the input only shifts this noise, and the size of the change says exactly how much of the noise "
        "stays in place. No single attribution is longer than the limit, so the average moves by at most a known "
        "distance; if the average is much longer than that distance, its direction can hardly change.",
        f"The length of the average and the spread of the attributions are bounded from {run.config.samples:,} draws "
        f"per input, so that with probability at least {confidence(run.alpha)} everything stated about that input "
        "holds at once.",
    ]


def rules(run: Collected) -> str:
    """Which rules certified what."""
    words = {rule.name: rule.words for rule in RULES}
    counts = Counter(row.rule for row in run.rows if row.rule)
    if not counts:
        return "No rule certified anything in this run."
    parts = [f"{words.get(rule, rule)} for {count}" for rule, count in counts.most_common()]
    return f"Largest certified epsilon by {', '.join(parts)} of {run.summary.total} inputs. All rules hold at once."


def facts(run: Collected, verdict: Verdict) -> list[Fact]:
    """What the first screen says about the run."""
    summary, config = run.summary, run.config
    source = config.bound if run.first is None else run.first.bound.source
    known = "; ".join(summary.claims) or source
    return [
        fact("Model", config.network + (f" ({config.arch})" if config.arch else "")),
        fact("Data", config.data),
        fact("Explanation", _explanation(config)),
        fact("Noise", config.noise if run.first is None else run.first.evidence().law.words),
        fact("Failure probability", _alpha(run)),
        fact(
            "How the limit is known",
            "ASSUMED, a guess: not a certificate" if run.assumed else known,
            warn=run.assumed or bool(summary.claims),
        ),
        fact("Accuracy", _percent(summary.accuracy)),
        fact("Accuracy under the noise", _percent(summary.accuracy_noisy)),
        fact("Records", _counts(run), warn=bool(summary.counts.get("error"))),
        *([fact("Epsilon of the verdict", verdict.choice)] if verdict.choice else []),
        *_medians(run),
        *_meaning(run),
        *_reasons(run),
        fact("Attacks", _attacks(run), warn=bool(run.violated)),
    ]


def _reasons(run: Collected) -> list[Fact]:
    """How far the largest features stay the largest, where that was counted."""
    orders = run.summary.orders
    if orders is None:
        return []
    stay = ", ".join(f"{count} up to {round_down(reach, 3)}" for count, reach in orders["stay"].items())
    note = "ASSUMED: " if run.assumed else ""
    whose = "" if len(run.kept) == run.summary.total else " over the inputs in the table"
    return [
        fact(
            f"Top {orders['reasons']} reasons that stay",
            f"{note}{stay}; in order up to {round_down(orders['in_order'], 3)} (median epsilon{whose})",
            warn=run.assumed,
        )
    ]


def provenance(run: Collected) -> list[Fact]:
    """What was done, for those who want to do it again."""
    config = run.config
    return [
        fact("Samples per input", f"{config.samples:,}"),
        fact("alpha per input", exact_text(config.alpha)),
        fact("Seed", str(config.seed)),
        fact("Limit", config.bound),
        fact("Time taken", f"{run.summary.seconds:,.0f} s on {config.device}"),
        *origin(config, {} if run.first is None else run.first.versions),
    ]


def origin(config: RunConfig, versions: Mapping[str, str]) -> list[Fact]:
    """What a run was made with: versions of programs, and hashes."""
    return [
        fact("Versions", ", ".join(f"{key} {value}" for key, value in versions.items()) or "unknown"),
        fact("Model SHA-256", config.model_sha256 or "unknown", code=True),
        fact("Data SHA-256", config.data_sha256 or "unknown", code=True),
    ]


def alarms(run: Collected) -> list[str]:
    """What must not be overlooked."""
    broken = remarks.violated(len(run.violated), run.violated)
    return [remark.text for remark in (*broken, *remarks.doubtful(run.summary.doubtful, run.summary.total))]


def cautions(run: Collected) -> list[Caution]:
    """Why a certified cosine may mean little; each is said while it is about the chosen cosine."""
    return remarks.cautions(run.summary.chance, run.summary.fidelity)


def notes(run: Collected) -> list[str]:
    """What else a reader should know."""
    summary, found = run.summary, []
    wanted = summary.config.items
    if wanted is not None and summary.total < wanted:
        found.append(f"The run was asked for {wanted} inputs and has {summary.total} records.")
    if len(run.kept) < summary.total:
        found.append(
            f"All {summary.total:,} records are checked and counted in the verdict, the curves and the quantiles. The "
            f"gallery, the table and the downloads hold {len(run.kept):,} of them: evenly spaced ones, and those that "
            "were attacked or have pictures. `attribound export` writes all."
        )
    if run.downloads.count < len(run.kept):
        found.append(
            f"The downloads hold {run.downloads.count:,} records, for the page's size. `attribound export` writes all."
        )
    for one in summary.errors:
        found.append(f"{called(one['item'], one['input'])} failed: {one['message']}")
    if len(summary.errors) < summary.counts.get("error", 0):
        found.append("More inputs failed; the table of records names each.")
    return found


def command(config: RunConfig, out: str) -> str:
    """The exact command that repeats a run."""
    if config.model == IN_PYTHON:
        return "made in Python, with attribound.certify: see the records for seeds and settings"
    certify = config.kind == "certify"
    alpha = Decimal(repr(config.alpha)) * max(config.simultaneous, 1)
    words = ["attribound", config.kind, "--model", config.model, "--data", config.data]
    words += ["--arch", config.arch] if config.arch else []
    words += ["--denoiser", config.denoiser] if config.denoiser else []
    words += ["--attribution", config.attribution, *_each("--map", config.maps)]
    words += _each("--change", config.changes)
    words += _each("--window", (f"{name}:{exact_text(half)}" for name, half in config.windows.items()))
    words += ["--target", config.target] if config.target is not None else []
    for name, value in config.asked.items():
        typed = STATEMENTS[name].typed(value)
        ours = STATEMENTS[name].__module__.startswith("attribound.")
        words += [f"--{name}", typed] if ours else ["--ask", f"{name}={typed}"]
    words += ["--output", config.output, "--bound", config.bound]
    words += ["--noise", config.noise] if certify else ["--reference", config.against]
    words += ["--samples", str(config.samples), "--alpha", exact_text(float(alpha))]
    words += ["--simultaneous"] if config.simultaneous else []
    words += _each("--epsilon", map(exact_text, config.epsilons)) if certify else []
    words += _each("--cosine", map(exact_text, config.cosines))
    words += ["--items", str(config.items)] if config.items is not None else []
    words += ["--shuffle"] if config.shuffle else []
    words += ["--precision", config.precision] if config.precision != "float32" else []
    words += ["--device", config.device] if config.device != "cpu" else []
    return shlex.join([*words, "--seed", str(config.seed), "--out", out])


def _each(option: str, values: Iterable[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


def _explanation(config: RunConfig) -> str:
    shaped = f" ({', '.join(config.maps)})" if config.maps else ""
    rounded = "" if config.precision == "float32" else f", the model in {config.precision}"
    return f"{config.attribution} of the {config.output}{shaped}{rounded}, averaged over noise"


def _alpha(run: Collected) -> str:
    each = f"alpha {exact_text(run.alpha)} for each certificate"
    return f"{each}, shared so that all hold at once" if run.config.simultaneous else each


def fact(name: str, text: str, *, warn: bool = False, code: bool = False) -> Fact:
    """A named text; `warn` where it must not be overlooked, `code` where it is a hash or a command."""
    return {"name": name, "text": text, "warn": warn, "code": code}


def _percent(share: float | None) -> str:
    return "unknown" if share is None else percent(share)


def _counts(run: Collected) -> str:
    summary = run.summary
    text = ", ".join(f"{count} {status}" for status, count in sorted(summary.counts.items())) or "none"
    word = "assumed" if run.assumed else "certified"
    return text if summary.correct is None else f"{text}; {word} and classified correctly: {summary.correct}"


def _medians(run: Collected) -> list[Fact]:
    """Medians over all inputs, errors included: exact averages, and maps as sampled."""
    proofs, found = run.proofs, []
    for cosine in run.config.cosines[:2] if proofs.scale.count else ():
        column = proofs.cosines.index(cosine)
        exact, seen = (
            in_units(int(lower_quantile(table[:, column].tolist(), 0.5)), proofs.scale.digits)
            for table in (proofs.units, proofs.visible)
        )
        text = f"{exact} (maps as sampled: {seen}"
        if proofs.classes is not None:
            joint = np.minimum(proofs.units[:, column], proofs.classes)
            text += (
                f"; together with the class: {in_units(int(lower_quantile(joint.tolist(), 0.5)), proofs.scale.digits)}"
            )
        found.append(fact(f"Median epsilon at cosine {exact_text(cosine)}", f"{text})"))
    return found


def _meaning(run: Collected) -> list[Fact]:
    summary, found = run.summary, []
    if summary.fidelity is not None:
        found.append(fact("Fidelity", f"{round_down(summary.fidelity, 2)}: cosine with the plain map, median"))
    if summary.chance is not None:
        text = f"{round_down(summary.chance, 2)}: cosine of maps of different inputs, 90 % quantile"
        found.append(fact("Chance level", text))
    return found


def _attacks(run: Collected) -> str:
    if not run.findings:
        return "none tried in this run"
    return f"inputs attacked: {len(run.findings)}; certificates violated: {len(run.violated)}"
