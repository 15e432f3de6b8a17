"""Search noise level and weight of the consistency objective.

`python scripts/experiments/search_consistency.py --mnist DIR`. Trains the small CNN for every pair (sigma, beta) and
measures, on images of the embedded sample that play no part in training, what the certificate gives. Writes
`results/consistency.json`, pair by pair: run again to resume.
"""

import argparse
import json
import statistics
from pathlib import Path

import torch

import attribound as ab
from attribound.data import Dataset, mnist_sample, open_data
from attribound.models import SmallCNN
from attribound.noise import Gaussian
from attribound.training import Consistency, Schedule, accuracy, fit

RESULT = Path(__file__).parents[2] / "results" / "consistency.json"
PAIRS = [(0.75, 1.0), (0.5, 4.0), (0.5, 1.0), (0.75, 0.0), (0.75, 0.5), (1.0, 1.0), (0.5, 0.0), (0.75, 4.0)]


def measure(sigma: float, beta: float, train: Dataset, test: Dataset, chosen: argparse.Namespace) -> dict[str, float]:
    """Train with one pair and certify."""
    torch.manual_seed(0)
    model, noise = SmallCNN(), Gaussian(sigma)
    schedule = Schedule(epochs=chosen.epochs, rate=1.6e-3, decay=5e-4)
    fit(model, train, Consistency(noise, beta), schedule)
    field = ab.Unit(ab.Saliency(model.requires_grad_(False)))
    images = mnist_sample()[0][: chosen.items]
    row = {"sigma": sigma, "beta": beta, "clean": accuracy(model, test), "noisy": accuracy(model, test, noise=noise)}
    for name, law in {"gaussian": noise, "uniform": ab.UniformBall.from_sigma(sigma, 784)}.items():
        certificates = [ab.certify(field, x, noise=law, samples=8192, item=item) for item, x in enumerate(images)]
        row[f"epsilon_{name}"] = statistics.median(c.max_epsilon(0.8) for c in certificates)
        row[f"norm_{name}"] = statistics.median(c.norm for c in certificates)
    return row


def main() -> None:
    """Go through the pairs that have no row yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mnist", required=True)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--items", type=int, default=20)
    chosen = parser.parse_args()
    train, test = (open_data(f"mnist:{chosen.mnist}", split) for split in ("train", "test"))
    stored = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    rows = stored.get("rows", [])
    for sigma, beta in PAIRS:
        if any((row["sigma"], row["beta"]) == (sigma, beta) for row in rows):
            continue
        rows.append(measure(sigma, beta, train, test, chosen))
        command = "python scripts/experiments/search_consistency.py --mnist DIR"
        command += f" --epochs {chosen.epochs} --items {chosen.items}"
        RESULT.write_text(
            json.dumps({"command": command, "samples": 8192, "alpha": 1e-3, "rows": rows}, indent=1) + "\n"
        )
        print(json.dumps(rows[-1]), flush=True)


if __name__ == "__main__":
    main()
