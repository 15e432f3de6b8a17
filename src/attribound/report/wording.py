"""The words around the numbers of the page: facts, notes, the theorem, and the command that repeats the run."""

import shlex
from collections import Counter
from typing import Any

from attribound.certificate import exact_text
from attribound.report.collect import Collected
from attribound.report.verdict import confidence
from attribound.runs import RunConfig

LIMITS = (
    "It is about the smoothed map, the average over noise. Nothing is proved about the plain map beside it.",
    "It covers every change of the input whose l2 length is at most epsilon, and no larger ones.",
    "It says that the explanation is stable, not that it is right. The prediction itself may change.",
    "The confidence is for each input by itself: of 1,000 statements at 99.9 %, one may be false.",
)
_RULES = {
    "tight": "the tight theorem (length and limit)",
    "covariance": "the covariance rule (length, limit and spread)",
    "curvature": "the curvature rule (gradient of a probability)",
}

Fact = dict[str, Any]


def theorem(run: Collected) -> list[str]:
    """The theorem in three sentences."""
    config = run.summary.config
    return [
        "The explanation is an average: the attribution is computed at many noisy copies of the input, and the exact "
        "average over all such noise is called the smoothed map.",
        "A change of the input only shifts this noise, and how much of it stays in place is known exactly from the "
        "size of the change; as no single attribution is longer than the limit, the average moves by so much at most, "
        "whatever the change and whatever the model, and an average that is long against that cannot turn far.",
        f"How long the average is and how much the attributions spread is bounded from {config.samples:,} draws per "
        f"input, such that with probability at least {confidence(config.alpha)} % everything stated about that input "
        "holds at once.",
    ]


def rules(run: Collected) -> str:
    """Which rules certified what."""
    counts = Counter(row.rule for row in run.rows if row.rule)
    if not counts:
        return "No rule certified anything in this run."
    parts = [f"{_RULES.get(rule, rule)} for {count}" for rule, count in counts.most_common()]
    return f"Largest certified epsilon by {', '.join(parts)} of {run.summary.total} inputs. All rules hold at once."


def facts(run: Collected) -> list[Fact]:
    """What the first screen says about the run."""
    summary, config = run.summary, run.summary.config
    doubt = run.assumed or run.paper
    known = "ASSUMED, a guess: not a certificate" if run.assumed else run.source or config.bound
    return [
        _fact("Model", config.model + (f" ({config.arch})" if config.arch else "")),
        _fact("Data", config.data),
        _fact("Explanation", f"{config.attribution} of the {config.output}, averaged over noise"),
        _fact("Noise", noise_words(config)),
        _fact("Confidence", f"{confidence(config.alpha)} % for each input (alpha {exact_text(config.alpha)})"),
        _fact("How the limit is known", known, warn=doubt),
        _fact("Accuracy", _percent(summary.accuracy)),
        _fact("Accuracy under the noise", _percent(summary.accuracy_noisy)),
        _fact("Records", _counts(summary.counts), warn=bool(summary.counts.get("error"))),
        _fact("Attacks", _attacks(run), warn=bool(run.violated)),
    ]


def provenance(run: Collected) -> list[Fact]:
    """What was done, for whoever wants to do it again."""
    config = run.summary.config
    found = [
        _fact("Samples per input", f"{config.samples:,}"),
        _fact("alpha per input", exact_text(config.alpha)),
        _fact("Seed", str(config.seed)),
        _fact("Limit", config.bound),
        _fact("Work", f"{run.summary.seconds:,.0f} s on {config.device}"),
        _fact("Versions", ", ".join(f"{key} {value}" for key, value in run.versions.items()) or "unknown"),
        _fact("Model SHA-256", config.model_sha256 or "unknown", code=True),
        _fact("Data SHA-256", config.data_sha256 or "unknown", code=True),
    ]
    return found


def alarms(run: Collected) -> list[str]:
    """What must not be overlooked."""
    found = []
    if run.violated:
        items = ", ".join(map(str, run.violated[:10]))
        found.append(
            f"VIOLATED: an attack turned the explanation further than certified (item {items}). Either an assumption "
            "is false or there is a bug: trust nothing on this page, and please report it."
        )
    if run.proofs.overstated:
        count = len(run.proofs.overstated)
        first = run.rows[run.proofs.overstated[0]].item
        found.append(
            f"{count} of {run.summary.total} records state more than follows from their evidence (first: item {first})."
            " The numbers that do follow are shown instead."
        )
    return found


def notes(run: Collected) -> list[str]:
    """What else a reader should know."""
    summary, found = run.summary, []
    wanted = summary.config.items
    if wanted is not None and summary.total < wanted:
        found.append(f"The run was asked for {wanted} inputs and has {summary.total} records.")
    for one in summary.errors:
        found.append(f"Item {one['item']} failed: {one['message']}")
    if len(summary.errors) < summary.counts.get("error", 0):
        found.append("More inputs failed; the table of records names each.")
    return found


def command(config: RunConfig, out: str) -> str:
    """The exact command that repeats a run."""
    words = ["attribound", "certify", "--model", config.model, "--data", config.data]
    words += ["--arch", config.arch] if config.arch else []
    words += ["--attribution", config.attribution, "--output", config.output, "--bound", config.bound]
    words += ["--noise", config.noise, "--samples", str(config.samples), "--alpha", exact_text(config.alpha)]
    words += ["--epsilon", *map(exact_text, config.epsilons)] if config.epsilons else []
    words += ["--cosine", *map(exact_text, config.cosines)]
    words += ["--limit-items", str(config.items)] if config.items is not None else []
    words += ["--shuffle"] if config.shuffle else []
    words += ["--device", config.device] if config.device != "cpu" else []
    return shlex.join([*words, "--seed", str(config.seed), "--out", out])


def noise_words(config: RunConfig) -> str:
    """The noise in words."""
    kind, _, scale = config.noise.partition(":")
    if kind == "gaussian":
        return f"Gaussian, standard deviation {scale} per feature"
    return f"uniform in a ball of radius {scale}" if kind == "uniform" else config.noise


def _fact(name: str, text: str, *, warn: bool = False, code: bool = False) -> Fact:
    return {"name": name, "text": text, "warn": warn, "code": code}


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{100 * share:.1f} %"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {status}" for status, count in sorted(counts.items())) or "none"


def _attacks(run: Collected) -> str:
    if not run.findings:
        return "none tried in this run"
    return f"inputs attacked: {len(run.findings)}; certificates violated: {len(run.violated)}"
