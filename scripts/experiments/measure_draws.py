"""Certified epsilon against the number of draws, with time and memory: `python scripts/experiments/measure_draws.py`.

Saliency (Unit) of the shipped MNIST models under the Gaussian noise that they were trained with, alpha 0.001, the first
images of the embedded sample: medians over ten images, fewer where there are many draws. Writes `results/draws.json`
and `.md`, row by row: run again to resume. Half an hour of one core, half of it for the million.
"""

import json
import resource
import statistics
import time
from pathlib import Path

import torch

import attribound as ab
from attribound.data import mnist_sample
from attribound.models import load_shipped
from attribound.rounding import round_down

OUT = Path(__file__).parents[2] / "results" / "draws"
MODELS = {"mnist-cnn-consistency": 0.75, "mnist-cnn-noise": 0.5}
DRAWS = {256: 10, 512: 10, 1024: 10, 2048: 10, 4096: 10, 8192: 10, 16_384: 5, 32_768: 3, 100_000: 1, 1_000_000: 1}
COSINES = (0.8, 0.9)
ABOUT = """# Certified epsilon against draws

Made by `python scripts/experiments/measure_draws.py`: medians over the images, one thread, Gaussian noise, alpha 0.001,
saliency. The peak of memory is that of the process so far, rows in the order of draws.
"""


def row(model: str, draws: int, items: int) -> dict:
    """Medians over the first images."""
    field, noise, images = ab.Unit(ab.Saliency(load_shipped(model))), ab.Gaussian(MODELS[model]), mnist_sample()[0]
    started = time.process_time()
    certificates = [
        ab.certify(field, images[item], noise=noise, samples=draws, seed=0, item=item) for item in range(items)
    ]
    return {
        "model": model,
        "draws": draws,
        "images": items,
        **{f"{cosine:g}": statistics.median_low(one.max_epsilon(cosine) for one in certificates) for cosine in COSINES},
        "sampled": statistics.median_low(one.max_visible_epsilon(0.8) for one in certificates),
        "rule": certificates[0].rule_at(certificates[0].max_epsilon(0.8)),
        "seconds": (time.process_time() - started) / items,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def markdown(rows: list[dict]) -> str:
    """The table."""
    head = ("model", "draws", "images", "epsilon(0.8)", "epsilon(0.9)", "epsilon(0.8), as sampled")
    head += ("processor seconds", "peak MiB")
    lines = [f"| {' | '.join(head)} |", "|---|---|---|---|---|---|---|---|"]
    for one in sorted(rows, key=lambda one: (one["model"], one["draws"])):
        proved = " | ".join(round_down(one[key], 3) for key in ("0.8", "0.9", "sampled"))
        cost = f"{one['seconds']:.1f} | {one['peak_mib']:.0f}"
        lines.append(f"| {one['model']} | {one['draws']:,} | {one['images']} | {proved} | {cost} |")
    return "\n".join(lines)


def main() -> None:
    """All rows that are not there yet, the cheap ones first: the peak of memory is that of the largest so far."""
    torch.set_num_threads(1)
    path = OUT.with_suffix(".json")
    rows = json.loads(path.read_text()) if path.exists() else []
    for draws, items in DRAWS.items():
        for model in MODELS:
            if any((one["model"], one["draws"]) == (model, draws) for one in rows):
                continue
            rows.append(row(model, draws, items))
            path.write_text("[\n" + ",\n".join(json.dumps(one) for one in rows) + "\n]\n")
            OUT.with_suffix(".md").write_text(f"{ABOUT}\n{markdown(rows)}\n")
            print(json.dumps(rows[-1]), flush=True)


if __name__ == "__main__":
    main()
