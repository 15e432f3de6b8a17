"""Measure what the attacks reach on the embedded sample: `python scripts/experiments/measure_attacks.py`.

The direct attack on smoothed saliency (Unit, Gaussian sigma 0.5) of the noise-trained model at epsilon 2.0 and 2.5, and
IFIA on the plain saliency of the standard model at epsilon 1.0. About fifteen minutes on one core.
"""

import argparse
import json
import statistics
from pathlib import Path

import attribound as ab
from attribound.data import mnist_sample
from attribound.models import load_shipped


def direct(images, epsilon: float) -> dict:
    field = ab.Unit(ab.Saliency(load_shipped("mnist-cnn-noise")))
    results = [
        ab.attack(field, x, noise=ab.Gaussian(0.5), epsilon=epsilon, method="direct", steps=100, samples=200)
        for x in images
    ]
    cosines = [result.cosine for result in results]
    return {"epsilon": epsilon, "median_cosine": statistics.median(cosines), "cosines": cosines}


def ifia(images) -> dict:
    field = ab.Saliency(load_shipped("mnist-cnn"))
    scores = [ab.attack(field, x, epsilon=1.0, method="ifia").score for x in images]
    return {
        "epsilon": 1.0,
        "median_top_100": statistics.median(score.top_k(100) for score in scores),
        "median_kendall": statistics.median(score.kendall for score in scores),
    }


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/attacks.json"))
    parser.add_argument("--items", type=int, default=16)
    chosen = parser.parse_args()
    images = mnist_sample()[0][: chosen.items]
    found = {"items": chosen.items, "ifia_plain_standard": ifia(images)}
    found["direct_smoothed_noise"] = [direct(images, epsilon) for epsilon in (2.5, 2.0)]
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
