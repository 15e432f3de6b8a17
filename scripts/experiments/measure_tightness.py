"""How far certificates lie from attacks, on the embedded sample.

`python scripts/experiments/measure_tightness.py [cases|gap]`. `gap`: for 12 images and both shipped models, the
smallest epsilon at which the direct attack turns the smoothed map to cosine 0.8 and 0.9, against what is certified
there; tightness is their ratio. The attack goes all out: it need not keep the prediction, starts again at the length
that it reached, and its change is tried at shorter lengths.

`cases`: many changes from short attacks, each put at the very lengths at which certificates state something, and judged
against every rule. A violation is an exact cosine that lies, with probability 1 - 1e-6, below what is certified.

Both write `results/tightness.json`, image by image: run again to resume. About an hour of one core each.
"""

import argparse
import json
import math
import statistics
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

import attribound as ab
from attribound.attacks.base import Problem, make_problem
from attribound.attacks.direct import Direct
from attribound.attacks.score import rescore
from attribound.data import mnist_sample
from attribound.fields.families import Around
from attribound.models import load_shipped

OUT = Path(__file__).parents[2] / "results" / "tightness.json"
MODELS = {"mnist-cnn-consistency": 0.75, "mnist-cnn-noise": 0.5}
COSINES = (0.8, 0.9)
STRONG = Direct(steps=40, samples=256, keep_label=False, rescore_samples=16)
SHORT = Direct(steps=6, samples=32, keep_label=False, rescore_samples=16)
ROUNDS, LONGEST, DRAWS = 2, 6.0, 1024
LEVELS = (0.3, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
SEEDS, JUDGED = 4, 256


def crossing(problem: Problem, change: Tensor, cosine: float, longest: float) -> float:
    """The length at which a change, shortened, turns the map to `cosine`; infinite if it never does."""

    def turned(length: float) -> bool:
        delta = change * (length / float(change.norm()))
        return rescore(problem.family, problem.at(delta), problem.noise, DRAWS, seed=1).cosine <= cosine

    if not turned(longest):
        return math.inf
    low, high = 0.0, longest
    while high - low > 0.01 * longest:
        middle = (low + high) / 2
        low, high = (low, middle) if turned(middle) else (middle, high)
    return high


def smallest(problem: Problem, cosine: float) -> float:
    """The smallest epsilon at which the strong attack reaches a cosine."""
    found, budget = math.inf, LONGEST * problem.noise.sigma
    for number in range(ROUNDS):
        result = STRONG.run(replace(problem, epsilon=budget), seed=number)
        found = min(found, crossing(problem, result.delta, cosine, budget))
        budget = min(found, 1.5 * budget)
    return found


def gap(model: str, item: int) -> dict:
    """Certified against attacked, for one image."""
    field, noise, x = ab.Unit(ab.Saliency(load_shipped(model))), ab.Gaussian(MODELS[model]), mnist_sample()[0][item]
    certificate = ab.certify(field, x, noise=noise, samples=8192, seed=0, item=item)
    problem = make_problem(Around(field, certificate.target, x), noise, 1.0)
    row = {}
    for cosine in COSINES:
        certified, attacked = certificate.max_epsilon(cosine), smallest(problem, cosine)
        row[f"{cosine:g}"] = {"certified": certified, "attacked": attacked, "tightness": certified / attacked}
    return row


def cases(model: str, item: int) -> dict:
    """Changes of short attacks at the lengths where each rule states the levels, judged by every rule."""
    field, noise, x = ab.Unit(ab.Saliency(load_shipped(model))), ab.Gaussian(MODELS[model]), mnist_sample()[0][item]
    certificate = ab.certify(field, x, noise=noise, samples=8192, seed=0, item=item)
    lengths = [length for level in LEVELS if (length := certificate.max_epsilon(level)) > 0]
    problem = make_problem(Around(field, certificate.target, x), noise, max(lengths), samples=1024)
    judged, violated, closest = 0, 0, 2.0
    for seed in range(SEEDS):
        change = SHORT.run(problem, seed=seed).delta
        for length in lengths:
            changed = problem.at(change * (length / float(change.norm())))
            applied = float(changed.shift.norm())
            score = rescore(problem.family, changed, noise, JUDGED, seed=seed)
            for stated in certificate.evidence.cosines(max(applied, length)).values():
                judged, violated = judged + 1, violated + int(float(stated) > score.cosine_most)
                closest = min(closest, score.cosine - float(stated))
    return {"judged": judged, "violated": violated, "closest": closest}


def summary(found: dict) -> dict:
    """Medians, and the sums of the cases."""
    rows = found["gap"]
    found["median_tightness"] = {
        f"{model} {cosine:g}": statistics.median(row[f"{cosine:g}"]["tightness"] for row in of_model)
        for model in MODELS
        for cosine in COSINES
        if (of_model := [row for key, row in rows.items() if key.startswith(f"{model} ")])
    }
    found["judged"] = sum(row["judged"] for row in found["cases"].values())
    found["violated"] = sum(row["violated"] for row in found["cases"].values())
    return found


def main() -> None:
    """Measure what has no row yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["gap", "cases"])
    parser.add_argument("--items", type=int)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    measure, items = {"gap": (gap, 12), "cases": (cases, 100)}[chosen.what]
    for item in range(chosen.items or items):
        for model in MODELS:
            found = json.loads(OUT.read_text()) if OUT.exists() else {"gap": {}, "cases": {}}
            if f"{model} {item}" in found[chosen.what]:
                continue
            row = measure(model, item)
            found = json.loads(OUT.read_text()) if OUT.exists() else {"gap": {}, "cases": {}}
            found[chosen.what][f"{model} {item}"] = row
            OUT.write_text(json.dumps(summary(found), indent=1) + "\n")
            print(model, item, json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
