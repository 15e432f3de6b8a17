"""The page of tolerances: one HTML file with everything in it. Reads a run's records, and runs no model."""

from typing import Any

from attribound.certificates.explain import FIDELITY
from attribound.certificates.record import Failure
from attribound.certificates.subject import called
from attribound.report.shared.legend import legend_of
from attribound.report.shared.templating import fill
from attribound.report.shared.wording import Fact, command, fact, origin
from attribound.report.tolerance.cards import Known, make_cards, shown_items
from attribound.report.tolerance.verdict import judge
from attribound.report.tolerance.words import title
from attribound.rounding import confidence, exact_text, round_down
from attribound.runs import Store
from attribound.runs.proving import Proved
from attribound.runs.remarks import violated
from attribound.runs.tolerance_summary import ToleranceSummary, summarise_tolerances
from attribound.tolerances.record import ToleranceRecord


def render(store: Store) -> str:
    """The page as text."""
    known: dict[int, dict[str, Proved[ToleranceRecord] | Failure]] = {item: {} for item in shown_items(store)}
    versions: dict[str, str] = {}

    def look(one: Proved[ToleranceRecord] | Failure) -> None:
        record = one if isinstance(one, Failure) else one.record
        versions.update({} if isinstance(record, Failure) else record.versions)
        if record.item in known:
            known[record.item][record.part] = one

    summary = summarise_tolerances(store, look)
    order = {name: place for place, name in enumerate(summary.config.parts)}
    ordered: dict[int, Known] = {
        item: dict(sorted(parts.items(), key=lambda part: order.get(part[0], len(order))))
        for item, parts in known.items()
    }
    cards = make_cards(store, ordered, dict(enumerate(store.names("classes"))))
    noun = "picture" if any(card.base for card in cards) else "input"
    return fill(
        "tolerance/templates/tolerance.html",
        "film.js",
        name=store.path.name,
        config=summary.config,
        noun=noun,
        nouns=noun + "s",
        verdicts={key: judge(summary, key, noun) for key in map(exact_text, summary.config.cosines)},
        first=exact_text(summary.config.cosines[0]),
        cards=cards,
        pictured=noun == "picture",
        filmed=any(row.frames for card in cards for row in card.rows),
        left=summary.inputs - len(cards),
        total=summary.inputs,
        alarms=_alarms(summary),
        cautions=_cautions(summary),
        notes=_notes(summary, store),
        chance=None if summary.chance is None else round_down(summary.chance, 2),
        legend=legend_of(summary.config.attribution, summary.config.maps),
        facts=_facts(summary),
        changes=_changes(summary),
        provenance=_provenance(summary, versions),
        certain=confidence(summary.config.alpha),
        scanned=summary.config.scanned,
        version=versions.get("attribound", ""),
        command=command(summary.config, store.path.name),
    )


def _alarms(summary: ToleranceSummary) -> list[str]:
    """What must not be overlooked."""
    found = [remark.text for remark in violated(len(summary.broken), summary.broken)]
    if summary.doubtful:
        named = ", ".join(list(summary.doubtful)[:5])
        one = len(summary.doubtful) == 1
        doubted = (
            "1 record is doubtful and counts" if one else f"{len(summary.doubtful)} records are doubtful and count"
        )
        found.append(f"{doubted} as proving nothing: {named}.")
    if any(one.proofs["assumed"] for one in summary.changes.values()):
        found.append("The limit is ASSUMED: what is scanned is not a certificate.")
    return found


def _cautions(summary: ToleranceSummary) -> list[str]:
    """Why a proof may mean little."""
    known = {one.change.spec: one.fidelity for one in summary.changes.values() if one.change is not None}
    low = [title(spec).lower() for spec, fidelity in known.items() if fidelity < FIDELITY]
    if not low:
        return []
    made, remedy = "a mean over a window", "A smaller --window"
    if summary.config.precision != "float32":
        made, remedy = "of a rounded model", "--precision float32"
    return [
        f"For these changes the map that is proved, {made}, does not resemble the plain map of the same picture: "
        f"{', '.join(low)}. {remedy} brings it nearer."
    ]


def _notes(summary: ToleranceSummary, store: Store) -> list[str]:
    wanted = store.recall("inputs")
    expected = wanted * len(summary.config.parts) if isinstance(wanted, int) else summary.records
    found = [] if summary.records >= expected else [f"{expected - summary.records} of {expected} records are missing."]
    found += [
        f"{called(one['item'], one['input'])}, {one['change']} failed: {one['message']}" for one in summary.messages
    ]
    if summary.errors > len(summary.messages):
        found.append(f"{summary.errors} records failed in all; what failed counts as not proved.")
    return found


def _facts(summary: ToleranceSummary) -> list[Fact]:
    """What the first screen says about the run."""
    config = summary.config
    arch = f" ({config.arch})" if config.arch else ""
    return [
        fact("Model", config.network + arch),
        fact("Data", config.data),
        fact("Explanation", f"{config.method} of the {config.output}"),
        fact("Failure probability", f"alpha {exact_text(config.alpha)} for all that is said about one input"),
        fact("Records", f"{summary.records}; {summary.errors} failed", warn=bool(summary.errors)),
        fact("Attacks", _attacks(summary), warn=bool(summary.broken)),
    ]


def _attacks(summary: ToleranceSummary) -> str:
    if summary.attacked is None:
        return "none tried in this run"
    return f"claims attacked: {summary.attacked['claims']}; claims violated: {summary.attacked['violated']}"


def _changes(summary: ToleranceSummary) -> list[dict[str, Any]]:
    """How each change is made and proved."""
    itself = "the plain map itself" if summary.config.precision == "float32" else ""
    return [
        {
            "title": title(one.change.spec),
            "name": name,
            "tried": f"{one.change.low:.4g} to {one.change.high:.4g} {one.change.unit}",
            "made": one.change.made,
            "proof": "every alternative was tried" if "exact" in one.proofs else "scanned with random draws",
            "fidelity": ("exact" in one.proofs and itself) or round_down(one.fidelity, 2),
        }
        for name, one in summary.changes.items()
        if one.change is not None
    ]


def _provenance(summary: ToleranceSummary, versions: dict[str, str]) -> list[Fact]:
    config = summary.config
    return [
        fact("Samples per scanned change", f"{config.samples:,}"),
        fact("Compared with", "the map shown" if config.against == "shown" else "the plain map"),
        fact("Seed", str(config.seed)),
        fact("Limit", config.bound),
        fact("Time taken", f"{summary.seconds:,.0f} s on {config.device}"),
        *origin(config, versions),
    ]
