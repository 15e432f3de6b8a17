"""How many certificates are false: `python scripts/experiments/measure_coverage.py`.

Certificates of fields whose truth is known at every shift (`coverage_fields.py`), every statement on, judged statement
by statement. Writes `results/coverage.json` and `.md`, a row per combination: run again to resume. A quarter of an hour
of one core.
"""

import itertools
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from coverage_fields import Known
from coverage_waves import known_fields
from scipy import stats

import attribound as ab
from attribound.errors import AttriboundWarning
from attribound.sampling import TopK
from attribound.sampling.votes import mark_cells

Array = np.ndarray
OUT = Path(__file__).parents[2] / "results" / "coverage"
FIELDS, SEEDS = {0.3: 14, 0.1: 5}, 6
"""Random fields of each kind in each combination, by alpha; certificates of each field."""
SLACK, BOLD = 1e-6, 1.5
STATEMENTS = {
    "length": "the least length of the exact map",
    "spread": "the most variance of the map in any direction",
    "closeness": "how far the sampled map is from the exact one",
    "cosine": "the cosine at every size of the change",
    "displacement": "how far the map moves, at every size",
    "cells": "cells that stay hot or cold",
    "class": "the class under noise and its radius",
    "reasons": "the largest features, and their order",
    "error bars": "the interval of every cell",
    "signs, top-k": "signs and overlap at several sizes",
    "as sampled": "cosine and cells of a map sampled at a changed input",
}
ABOUT = """# How many certificates are false

Made by `python scripts/experiments/measure_coverage.py` (row by row; run again to resume). A certificate is *false*
if anything that it states as proved is not true of the exact field, at any change of the size that it names. Alpha
bounds the share of false certificates. The fields are random ones whose smoothed map, votes and class probabilities
are known at every shift, in closed form or by integrals good to 1e-6: maps of linear models, signs, steps, maps that
turn, half-spaces in two directions, and the gradient of a probability (`coverage_fields.py`). Sigma is 0.2 to 3,
inputs have 2 to 41 features, there are at most 48, 256 or 1,024 draws. *Units*: 1/256 to 256 per feature, and a
feature that does not move. *Early*: sampling stops when a question (a cosine at an epsilon, or the largest cell) is
settled. Shifts are searched on a grid of 321 along a line or 3,841 in a plane, up to 4 sigma. Combination k uses the
seeds (k, kind, field).

To check that the judge can find false certificates, the last column judges the same certificates as if every epsilon
meant changes half as large again.

Shares with their Clopper-Pearson intervals at 95 %.
"""


def certificates(known: Known, alpha: float, *, early: bool, rng: np.random.Generator) -> Iterator[ab.Certificate]:
    """Certificates of one field from independent draws, with everything that can be asked."""
    cells = known.truth.maps.shape[1]
    question: Any = None
    if early:
        size = float(rng.uniform(0.05, 1.5)) * known.noise.law(known.x.numel()).sigma
        question = TopK(1) if rng.random() < 0.2 else (float(rng.choice([0.0, 0.5, 0.8, 0.9])), size)
    for _ in range(SEEDS):
        yield ab.certify(
            known.field, known.x, 0, noise=known.noise, samples=int(rng.choice([48, 256, 1024])), alpha=alpha,
            seed=int(rng.integers(2**31)), until=question, cells=tuple(known.truth.hot), reasons=min(2, cells - 1),
            cosines=(0.0, 0.5, 0.9),
        )  # fmt: skip


def false_statements(cert: ab.Certificate, known: Known, rng: np.random.Generator) -> set[str]:
    """Which of the statements are not true."""
    truth = known.truth
    exact, seen = truth.maps[0], cert.attribution.ravel()
    low, high = (side.ravel() for side in cert.interval())
    found = {
        "length": cert.norm_lower > np.linalg.norm(exact) + SLACK,
        "spread": truth.eigenvalue is not None and cert.eigenvalue_upper < truth.eigenvalue - SLACK,
        "closeness": np.linalg.norm(seen - exact) > cert.map_radius + SLACK,
        "cosine": _cosine_is_false(cert, known),
        "displacement": _displacement_is_false(cert, known),
        "cells": _cells_are_false(cert, known),
        "class": _class_is_false(cert, known),
        "reasons": _reasons_are_false(cert, known),
        "error bars": bool(((exact < low - SLACK) | (exact > high + SLACK)).any()),
        "signs, top-k": _features_are_false(cert, known),
        "as sampled": _sampled_is_false(cert, known, rng),
    }
    return {name for name, wrong in found.items() if wrong}


def _cosines(maps: Array, with_map: Array) -> Array:
    lengths = np.linalg.norm(maps, axis=1) * np.linalg.norm(with_map)
    return np.where(lengths > 0, maps @ with_map / np.where(lengths > 0, lengths, 1), 1.0)


def _at_sizes(answer: Callable[[Array], Array], sizes: Array) -> Array:
    """What is stated at every size; many shifts have the same."""
    steps, where = np.unique(np.round(sizes, 12), return_inverse=True)
    return answer(steps)[where]


def _cosine_is_false(cert: ab.Certificate, known: Known) -> bool:
    truth = known.truth
    true = _cosines(truth.maps, truth.maps[0])
    stated = _at_sizes(cert.evidence.cosine, truth.sizes)
    largest = [(float(cosine), size) for cosine, size in cert.record.max_epsilon.items()]
    wrong = [(true[truth.sizes <= size] < cosine - SLACK).any() for cosine, size in largest if size > 0]
    return bool((stated > true + SLACK).any() or any(wrong))


def _displacement_is_false(cert: ab.Certificate, known: Known) -> bool:
    truth = known.truth
    moved = np.linalg.norm(truth.maps - cert.attribution.ravel(), axis=1)
    return bool((moved > _at_sizes(cert.evidence.displacement, truth.sizes) + cert.map_radius + SLACK).any())


def _likely(probabilities: Array, sizes: Array, reach: float) -> bool:
    """Whether something keeps more than half of the noisy inputs up to a size, as far as that is proved."""
    return reach <= 0 or bool((probabilities[sizes <= reach] > 0.5 - SLACK).all())


def _cells_are_false(cert: ab.Certificate, known: Known) -> bool:
    truth, sizes = known.truth, known.truth.sizes[:: known.truth.stride]
    for fraction, hot in truth.hot.items():
        marks, reach = cert.cells(fraction, 0.0).ravel(), cert.cell_radius(fraction).ravel()
        for cell, mark in enumerate(marks):
            sides = hot if mark > 0 else truth.cold[fraction]
            if mark and not _likely(sides[:, cell], sizes, reach[cell]):
                return True
    return False


def _class_is_false(cert: ab.Certificate, known: Known) -> bool:
    truth, voted = known.truth, cert.smoothed_prediction
    return voted is not None and not _likely(
        truth.classes[:, voted], truth.sizes[:: truth.stride], cert.prediction_radius
    )


def _reasons_are_false(cert: ab.Certificate, known: Known) -> bool:
    truth, said = known.truth, cert.reasons()
    for place, feature in enumerate(said.features):
        rank = (truth.maps > truth.maps[:, feature, None] + SLACK).sum(1)
        if said.stays[place] > 0 and (rank[truth.sizes <= said.stays[place]] >= len(said.features)).any():
            return True
        for other, reach in zip(said.features, said.above[place], strict=True):
            lead = truth.maps[:, feature] - truth.maps[:, other]
            if reach > 0 and (lead[truth.sizes <= reach] < -SLACK).any():
                return True
    return False


def _features_are_false(cert: ab.Certificate, known: Known) -> bool:
    truth, seen = known.truth, cert.attribution.ravel()
    for size in (0.0, 0.05, 0.2, 0.6):
        maps = truth.maps[truth.sizes <= size * truth.sizes[-1]]
        epsilon = float(size * truth.sizes[-1])
        kept = cert.signs(epsilon).ravel()
        if (maps * np.sign(seen) < -SLACK)[:, kept].any():
            return True
        for k in range(1, seen.size):
            chosen = np.argsort(-seen, kind="stable")[:k]
            least = np.sort(maps, axis=1)[:, -k, None]
            if (maps[:, chosen] >= least - SLACK).sum(1).min() < cert.top_k(k, epsilon):
                return True
    return False


def _sampled_is_false(cert: ab.Certificate, known: Known, rng: np.random.Generator) -> bool:
    """At the worst shift up to a random size, with as many draws as the certificate had, unknown to it."""
    truth = known.truth
    size = float(rng.uniform(0, 0.3)) * truth.sizes[-1]
    worst = int(np.where(truth.sizes <= size, _cosines(truth.maps, truth.maps[0]), 2.0).argmin())
    generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
    inputs = known.noise.onto(known.moved(truth.shifts[worst]).expand(cert.draws, -1), generator)
    maps = known.field.attribute(inputs, 0).detach().double().numpy()
    if cert.visible_cosine(size) > _cosines(maps.mean(0)[None], cert.attribution.ravel())[0] + SLACK:
        return True
    for fraction in truth.hot:
        votes, marks = mark_cells(maps, fraction), cert.cells(fraction, size, samples=cert.draws).ravel()
        agree = (votes == np.where(marks == 0, 9, marks)).mean(0)
        if ((marks != 0) & (agree <= 0.5)).any():
            return True
    return False


def understated(known: Known) -> Known:
    """A truth in which changes are larger than they are called: it shows that the judge sees what is false."""
    return replace(known, truth=replace(known.truth, shifts=known.truth.shifts / BOLD))


def row(number: int, alpha: float, law: str, units: bool, early: bool) -> dict[str, Any]:
    """One combination: how many certificates, how many false, by statement and kind of field."""
    started, total, useful, bold = time.process_time(), 0, 0, 0
    false, kinds = dict.fromkeys(["any", *STATEMENTS], 0), {}
    for place, (kind, make) in enumerate(known_fields().items()):
        wrong, count = 0, 0
        for field in range(FIELDS[alpha]):
            rng = np.random.default_rng([number, place, field])
            known = make(rng, law, units)
            for cert in certificates(known, alpha, early=early, rng=rng):
                untrue = false_statements(cert, known, rng)
                count, wrong, useful = count + 1, wrong + bool(untrue), useful + (cert.record.max_epsilon["0.5"] > 0)
                bold += bool(false_statements(cert, understated(known), rng))
                for name in ["any"] * bool(untrue) + sorted(untrue):
                    false[name] += 1
        kinds[kind], total = [wrong, count], total + count
    seconds = round(time.process_time() - started, 1)
    return {
        "number": number, "alpha": alpha, "law": law, "units": units, "early": early, "certificates": total,
        "useful": useful, "false": false, "bold": bold, "kinds": kinds, "seconds": seconds,
    }  # fmt: skip


def interval(wrong: int, count: int) -> str:
    """A share with its Clopper-Pearson interval."""
    low, high = stats.binomtest(wrong, count).proportion_ci(method="exact")
    return f"{100 * wrong / count:.2f} % ({100 * low:.2f} to {100 * high:.2f})"


def markdown(rows: list[dict[str, Any]]) -> str:
    """A table of combinations, one of statements and one of fields."""
    lines = [
        "| alpha | law | units | draws | certificates | that reach cosine 0.5 | false | false if 1.5 times as large |",
        "|---" * 8 + "|",
    ]
    for one in rows:
        how = "early" if one["early"] else "fixed"
        lines.append(
            f"| {one['alpha']} | {one['law']} | {'yes' if one['units'] else 'no'} | {how} | {one['certificates']} "
            f"| {one['useful']} | {interval(one['false']['any'], one['certificates'])} "
            f"| {100 * one['bold'] / one['certificates']:.0f} % |"
        )
    for alpha in sorted({one["alpha"] for one in rows}, reverse=True):
        mine = [one for one in rows if one["alpha"] == alpha]
        count = sum(one["certificates"] for one in mine)
        lines += ["", f"## Alpha {alpha}: {count:,} certificates", "", "| statement | false |", "|---|---|"]
        for name, about in {"any": "anything", **STATEMENTS}.items():
            lines.append(f"| {name}: {about} | {interval(sum(one['false'][name] for one in mine), count)} |")
        lines += ["", "| field | certificates | false |", "|---|---|---|"]
        for kind in mine[0]["kinds"]:
            wrong, number = (sum(one["kinds"][kind][k] for one in mine) for k in range(2))
            lines.append(f"| {kind} | {number} | {interval(wrong, number)} |")
    return "\n".join(lines)


def write(rows: list[dict[str, Any]]) -> None:
    """Both files, in the order of the combinations."""
    rows.sort(key=lambda one: one["number"])
    OUT.with_suffix(".json").write_text("[\n" + ",\n".join(json.dumps(one) for one in rows) + "\n]\n")
    OUT.with_suffix(".md").write_text(f"{ABOUT}\n{markdown(rows)}\n")


def main() -> None:
    """All rows that are not there yet."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", AttriboundWarning)
    path = OUT.with_suffix(".json")
    rows = json.loads(path.read_text()) if path.exists() else []
    combinations = itertools.product(FIELDS, ("gaussian", "uniform"), (False, True), (False, True))
    for number, (alpha, law, units, early) in enumerate(combinations):
        if all(one["number"] != number for one in rows):
            rows.append(row(number, alpha, law, units, early))
            print(json.dumps(rows[-1]), flush=True)
        write(rows)


if __name__ == "__main__":
    main()
