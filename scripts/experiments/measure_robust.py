"""Explanations of the robust CIFAR-10 models under attack.

`python scripts/experiments/measure_robust.py --cifar10 DIR`. Share of the 1,000 largest features of the saliency map
that are kept after the l2 IFIA (top-k loss, Softplus while attacking), on the first test images; accuracy from the
model's card, and under an attack of 20 steps that raises the cross-entropy. `--also FILE` measures a further ResNet-20,
such as the control of IGR. Writes results/cifar10-robust.json and .md, image by image: run again to go on; rows of
other weights are measured anew.
"""

import argparse
import json
import math
import statistics
from pathlib import Path
from typing import Any

from scipy import stats
from torch import Tensor, nn

import attribound as ab
from attribound.data import Arrays, Dataset, open_data
from attribound.hashes import model_hash
from attribound.models import SHIPPED, card, load_model, load_shipped
from attribound.training import Adversarial, accuracy, attacked_accuracy

OUT = Path(__file__).parents[2] / "results" / "cifar10-robust"
FAMILY = "cifar10-resnet20"
MODELS = [name for name in SHIPPED if name.startswith(FAMILY)]
PAIRS = [("trades", "adversarial"), ("igr", "trades"), ("igr-control", "trades"), ("igr", "igr-control")]
PAIRS += [("ig-norm", "trades"), ("igr", "noise")]
K, STEPS, SEED, HELD = 1000, 40, 0, 250
STRONG = Adversarial(epsilon=0.25, attack_steps=20, step_size=0.05)
COMMAND = "python scripts/experiments/measure_robust.py --cifar10 DIR --items {items} --epsilon {epsilons}"
ABOUT = """# Explanations of the robust CIFAR-10 models under attack

Made by `{command}`.
ResNet-20; saliency of the predicted class; l2 IFIA with the top-k loss, {steps} steps, only changes
that keep the prediction; the first {items} test images. Top-1,000: mean share of the 1,000 largest of 3,072 features
that are kept, +- half of its 95 % interval (Student's t over images, one training each: the variation between
trainings is not in it). Accuracy: 10,000 test images; *own attack*: that of the model's training (its card says which);
*20 steps*: first {held} test images, cross-entropy raised within l2 0.25. Nothing on this page is certified.
"""


def attack(model: nn.Module, image: Tensor, epsilon: float) -> dict[str, float]:
    """Top-k and Kendall's tau after the attack on one image."""
    score = ab.attack(ab.Saliency(model), image, epsilon=epsilon, k=K, steps=STEPS, seed=SEED).score
    return {"top_k": round(score.top_k(K), 4), "kendall": round(score.kendall, 4)}


def accuracies(model: nn.Module, test: Dataset, stated: dict[str, Any]) -> dict[str, float | None]:
    """From the card, and under the strong attack."""
    held = Arrays(*test.batch(range(HELD)))
    return {
        "clean": stated["test_accuracy"],
        "own_attack": stated.get("test_accuracy_attacked"),
        "clean_held": accuracy(model, held),
        "strong_attack": attacked_accuracy(model, held, STRONG),
    }


def mean(values: list[float]) -> tuple[float, float]:
    """The mean and half of its 95 % interval."""
    half = stats.t.ppf(0.975, len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return statistics.mean(values), float(half)


def page(stored: dict[str, Any]) -> str:
    """Two tables: models, and differences image by image."""
    rows, epsilons = stored["rows"], stored["epsilons"]
    top = " | ".join(f"top-1,000 at {epsilon:g}" for epsilon in epsilons)
    tau = " | ".join(f"Kendall at {epsilon:g}" for epsilon in epsilons)
    lines = [ABOUT.format(command=stored["command"], steps=STEPS, items=stored["items"], held=HELD)]
    lines += [f"| model | clean | own attack | 20 steps | {top} | {tau} |", "|---" * (4 + 2 * len(epsilons)) + "|"]
    for name, row in rows.items():
        shares = [row["accuracy"][key] for key in ("clean", "own_attack", "strong_attack")]
        cells = ["" if share is None else f"{share:.1%}" for share in shares]
        for kind in ("top_k", "kendall"):
            cells += ["{:.3f} +- {:.3f}".format(*mean(row["attacked"][f"{one:g}"][kind])) for one in epsilons]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    lines += ["", "Differences of top-1,000 on the same images, with 95 % intervals:", ""]
    lines += [f"| difference | {' | '.join(f'at {epsilon:g}' for epsilon in epsilons)} |"]
    lines += ["|---" * (1 + len(epsilons)) + "|"]
    for one, two in PAIRS:
        pair = [rows.get(f"{FAMILY}-{name}") for name in (one, two)]
        if all(pair):
            lines.append(f"| {one} - {two} | {' | '.join(difference(*pair, epsilon) for epsilon in epsilons)} |")
    return "\n".join(lines) + "\n"


def difference(one: dict[str, Any], two: dict[str, Any], epsilon: float) -> str:
    """The mean difference of two models, image by image."""
    first, second = (row["attacked"][f"{epsilon:g}"]["top_k"] for row in (one, two))
    return "{:+.3f} +- {:.3f}".format(*mean([a - b for a, b in zip(first, second, strict=True)]))


def fill(name: str, model: nn.Module, stated: dict[str, Any], test: Dataset, stored: dict[str, Any]) -> None:
    """Measure what a model's row lacks, and save after every image."""
    row = stored["rows"].get(name, {})
    if row.get("sha256") != model_hash(model):
        row = {"sha256": model_hash(model), "accuracy": accuracies(model, test, stated), "attacked": {}}
    stored["rows"][name] = row
    for epsilon in stored["epsilons"]:
        scores = row["attacked"].setdefault(f"{epsilon:g}", {"top_k": [], "kendall": []})
        for item in range(len(scores["top_k"]), stored["items"]):
            for kind, value in attack(model, test.input(item), epsilon).items():
                scores[kind].append(value)
            OUT.with_suffix(".json").write_text(json.dumps(stored) + "\n")
        print(name, epsilon, mean(scores["top_k"]), row["accuracy"], flush=True)


def main() -> None:
    """Measure what is missing, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cifar10", required=True, help="folder with CIFAR-10's batches")
    parser.add_argument("--items", type=int, default=50)
    parser.add_argument("--epsilon", type=float, nargs="*", default=[0.25])
    parser.add_argument("--only", nargs="*", default=MODELS, help="only these shipped models")
    parser.add_argument("--also", type=Path, nargs="*", default=[], help="weights of further ResNet-20s, cards beside")
    chosen = parser.parse_args()
    test = open_data(f"cifar10:{chosen.cifar10}", "test")
    command = COMMAND.format(items=chosen.items, epsilons=" ".join(f"{epsilon:g}" for epsilon in chosen.epsilon))
    command += " --also FILE" if chosen.also else ""
    stored = json.loads(OUT.with_suffix(".json").read_text()) if OUT.with_suffix(".json").exists() else {}
    if stored.get("items") != chosen.items:
        stored = {"rows": {}}
    stored |= {"command": command, "items": chosen.items, "held": HELD, "epsilons": chosen.epsilon}
    for name in chosen.only:
        fill(name, load_shipped(name), card(name), test, stored)
    for path in chosen.also:
        stated = json.loads(path.with_suffix(".json").read_text())
        fill(path.stem, load_model(str(path), "resnet20"), stated, test, stored)
    OUT.with_suffix(".md").write_text(page(stored))


if __name__ == "__main__":
    main()
