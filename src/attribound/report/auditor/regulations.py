"""Which evidence of a run answers which clause of the rules that people are audited by, and where it stops.

References and what they ask for are ours in short; the texts themselves decide.
"""

from collections.abc import Mapping
from typing import NamedTuple

from attribound.report.shared.collect import Collected
from attribound.rounding import exact_text, round_down

DISCLAIMER = (
    "This table is a reading aid, neither legal advice nor a statement of conformity. The texts themselves decide, and "
    "which of them apply to you is for you to find out."
)


class Clause(NamedTuple):
    """One clause: what it asks for, what this run shows, and what it does not."""

    reference: str
    asks: str
    evidence: str
    limits: str


def clauses(run: Collected, question: str, outcomes: Mapping[str, int]) -> list[Clause]:
    """The table, filled for a run.

    Args:
        run: the run.
        question: what is asked of every input, in words.
        outcomes: how many inputs are a proof, a counterexample, inconclusive.
    """
    return [*_ai_act(run, question, outcomes), _iso(run, question, outcomes), _nist(run), _banking(run)]


def _ai_act(run: Collected, question: str, outcomes: Mapping[str, int]) -> list[Clause]:
    total, attacked, proved = run.summary.total, len(run.findings), outcomes.get("proof", 0)
    return [
        Clause(
            "EU AI Act (Regulation 2024/1689), Annex IV, 2(g)",
            "Validation and testing procedures and data, metrics for accuracy and robustness, test logs, and test "
            "reports that are dated and signed by the responsible persons.",
            f"Procedure, data with its hash, the metric ({question}: {proved} of {total}), one record per input as the "
            "log, the date, and places for signatures.",
            "Only the robustness of explanations. Nothing about discriminatory impacts. Signing is a person's act.",
        ),
        Clause(
            "EU AI Act, Article 13",
            "Deployers can interpret the output; instructions name robustness and what the system can do to explain "
            "its output (13(3)(b)).",
            "How far an explanation can be relied on, for each input" + (", cell by cell." if run.trusted else "."),
            f"Stable is not the same as right. {_meaning(run)} This does not replace instructions for use.",
        ),
        Clause(
            "EU AI Act, Article 15",
            "Appropriate robustness over the life cycle; resilience against inputs made to mislead the model (15(5)).",
            f"Bounds that hold for every change up to epsilon; inputs attacked as well: {attacked}; "
            f"certificates broken: {len(run.violated)}.",
            f"Changes of one input, measured by their {run.config.size}. Nothing about poisoned training data, stolen "
            "models or other attacks. What is proved about the class is about the smoothed model.",
        ),
    ]


def _iso(run: Collected, question: str, outcomes: Mapping[str, int]) -> Clause:
    counted = ", ".join(
        f"{words}: {outcomes.get(outcome, 0)}"
        for outcome, words in (
            ("proof", "proof (certified)"),
            ("counterexample", "counterexample (violated)"),
            ("inconclusive", "inconclusive (uncertified)"),
        )
    )
    return Clause(
        "ISO/IEC 24029-2:2023",
        "Formal methods for the robustness of neural networks: a property, a domain, and an outcome that is a proof, a "
        "counterexample or inconclusive.",
        f"Property: stability of the smoothed map ({question}). Domain: all changes up to that size around each of the "
        f"{run.summary.total} inputs. Outcome: {counted}.",
        f"The proofs are statistical: each holds with probability at least 1 - {exact_text(run.alpha)}. The method is "
        "incomplete: inconclusive does not mean unstable. They are about these inputs, not about all.",
    )


def _nist(run: Collected) -> Clause:
    return Clause(
        "NIST AI RMF 1.0, MEASURE 2.9 (in part 2.7)",
        "The model is explained, validated and documented, and its output is interpreted within its context.",
        "Which method explains it, how stable its explanations are; records, hashes and a command that repeats them.",
        f"The context is yours. {_meaning(run)}",
    )


def _banking(run: Collected) -> Clause:
    named = "with the names of the features" if run.features else "the features have no names in this run"
    return Clause(
        "SR 11-7 (2011), replaced by SR 26-2 in April 2026",
        "Model risk: conceptual soundness, sensitivity and outcomes analysis, ongoing monitoring, effective challenge.",
        f"Sensitivity of reason codes to changes of the input ({named}); `attribound compare` for monitoring between "
        "versions; everything can be repeated by an independent party.",
        "The order of single reason codes is certified only where cells are. Independence is a matter of organisation.",
    )


def _meaning(run: Collected) -> str:
    fidelity, chance = run.summary.fidelity, run.summary.chance
    known = [
        f"its cosine with the plain map is {round_down(fidelity, 2)} in the median" if fidelity is not None else "",
        f"maps of different inputs reach {round_down(chance, 2)} with each other" if chance is not None else "",
    ]
    text = "; ".join(filter(None, known))
    return f"What is certified is the smoothed map: {text}." if text else "What is certified is the smoothed map."
