"""Write certificates.json again: `python -m tests.regression`, on any machine, after a change that is meant to move it.

Every row says how far its facts moved. A row whose outcomes hang on a threshold is refused: choose another seed.
"""

import json

import torch

from attribound.sampling import Estimate
from tests.regression.cases import ASKED, FILE, Row, answers, drawn, read, rule_of, top_k

MARGIN = 1e-4
"""Ten times what `verify` allows between two processors: no outcome may change by so much."""


def main() -> None:
    torch.set_num_threads(1)
    rows = [remade(number, row) for number, row in enumerate(read())]
    FILE.write_text(json.dumps({"rows": rows}, indent=0) + "\n")


def remade(number: int, row: Row) -> Row:
    result = drawn(row)
    evidence = result.evidence
    facts = {kind.name: fact.to_json() for kind, fact in evidence.facts.items()}
    for problem in near_thresholds(row, result):
        raise SystemExit(f"row {number} ({row['model']}, {row['field']}, {row['noise']}): {problem}")
    print(f"row {number}: facts moved by {moved(row.get('facts', {}), facts):.1e}")
    return {name: row[name] for name in ASKED} | {
        "dim": evidence.law.dim,
        "limit": evidence.limit,
        "facts": facts,
        "draws": result.draws,
        "stopped": result.stopped,
        "rule": rule_of(evidence),
        "top_k": top_k(result),
        **answers(evidence, result.draws),
    }


def near_thresholds(row: Row, result: Estimate) -> list[str]:
    """Outcomes that a change of MARGIN would turn."""
    problems = []
    epsilon = float(result.evidence.max_epsilon(0.8)) or float(result.evidence.max_epsilon(0.0))
    best = sorted(map(float, result.evidence.cosines(epsilon).values()))[-2:] if epsilon > 0 else []
    if len(best) == 2 and best[1] - best[0] < MARGIN:
        problems.append(f"two rules are {best[1] - best[0]:.1e} apart")
    if len({top_k(result, more=more * result.evidence.limit) for more in (-MARGIN, 0, MARGIN)}) > 1:
        problems.append("a cell is at the edge of the largest hundred")
    if row["until"] is not None:
        cosine, budget = row["until"]
        others = [drawn(row | {"until": [cosine + change, budget]}) for change in (-MARGIN, MARGIN)]
        if {(other.draws, other.stopped) for other in others} != {(result.draws, result.stopped)}:
            problems.append("a look at the question is nearly settled")
    return problems


def moved(before: dict, after: dict) -> float:
    """The largest relative change of a fact's number."""
    pairs = [
        (before[name][key], value) for name, fact in after.items() if name in before for key, value in fact.items()
    ]
    return max((abs(new - old) / max(abs(old), 1e-12) for old, new in pairs), default=0.0)


if __name__ == "__main__":
    main()
