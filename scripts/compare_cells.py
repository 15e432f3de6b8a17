"""Cells and class against their peers, on the same draws: `python scripts/compare_cells.py --draws DIR`.

The draws are those of scripts/measure_imagenet.py. Peers: pixel votes as Anani et al. (2025) certify them, with their
100 draws and with all of ours (`attribound.baselines`), and the class as Cohen et al. (2019) certify it, alone, at
the whole alpha. Ours proves cells, class and cosine together, at one alpha. Writes results/peers.json and .md, and
the table in docs/compare.md.
"""

import argparse
import json
import statistics
from pathlib import Path

import numpy as np
import torch
from imagenet_table import ALPHA, SHAPES, groups, photo_row, unit
from scipy.stats import norm

from attribound.baselines import certify_pixels
from attribound.bounds import proportion_lower
from attribound.rounding import percent, round_down

ROOT = Path(__file__).parent.parent
OUT, PAGE = ROOT / "results" / "peers", ROOT / "docs" / "compare.md"
RADIUS, FRACTION, METHOD, GUESS, THEIR_SAMPLES = 0.1, 0.5, "gradcam", 10, 100
ABOUT = """# Cells and class against their peers, on the same draws

Made by `python scripts/compare_cells.py --draws DIR` from the draws of `scripts/measure_imagenet.py`: Grad-CAM (7 x
7, centred) of photographs, Gaussian noise, alpha 0.001. Cells: mean share of the 49 cells proved to stay in the
hotter or the colder half of the map under every change up to 0.1. *Pixel votes*: the algorithm of Anani et al. (ICML
2025) written from their paper, applied to the map's own cells, with their 100 draws and with all of ours. *Class*:
median radius in which the smoothed class is proved to stay; Cohen et al. (ICML 2019) spend all of alpha on it, we
share it with cells and cosine.
"""
HEAD = (
    "model",
    "sigma",
    "photos",
    "cells, ours",
    "pixel votes, 100 draws",
    "pixel votes, all draws",
    "class, ours",
    "class, Cohen",
)


def theirs(stored: dict[str, np.ndarray], sigma: float, samples: int) -> float:
    """The share of cells that pixel votes mark; where 1 is the probability to be shown, nothing can be marked."""
    maps = unit(SHAPES[METHOD](torch.from_numpy(stored["maps"])))[:samples].numpy()
    marks = certify_pixels(maps, FRACTION, guess=GUESS, needed=float(norm.cdf(RADIUS / sigma)), alpha=ALPHA)
    return float(np.mean(marks != 0))


def cohen(classes: np.ndarray, sigma: float) -> float:
    """The radius of the class that the first draws choose; 0.0 where it abstains."""
    guess = int(np.bincount(classes[:THEIR_SAMPLES]).argmax())
    left = classes[THEIR_SAMPLES:]
    lower = float(proportion_lower(int((left == guess).sum()), len(left), ALPHA))
    return sigma * float(norm.ppf(lower)) if lower > 0.5 else 0.0


def compare(arch: str, sigma: float, paths: list[Path]) -> dict:
    """One line of the table."""
    rows, few, all_draws, radii = [], [], [], []
    for path in paths:
        stored = dict(np.load(path))
        rows.append(photo_row(path, sigma, METHOD)[0])
        few.append(theirs(stored, sigma, THEIR_SAMPLES))
        all_draws.append(theirs(stored, sigma, len(stored["maps"])))
        radii.append(cohen(stored["classes"], sigma))
    return {
        "model": arch,
        "sigma": sigma,
        "photos": len(paths),
        "cells": statistics.fmean(row["cells"][f"{FRACTION:g}"][f"{RADIUS:g}"] for row in rows),
        "pixel_votes_100": statistics.fmean(few),
        "pixel_votes_all": statistics.fmean(all_draws),
        "class": statistics.median_low(row["prediction_radius"] for row in rows),
        "class_cohen": statistics.median_low(radii),
    }


def markdown(lines: list[dict]) -> str:
    """The table."""
    found = [" | ".join(HEAD), " | ".join("---" for _ in HEAD)]
    for line in lines:
        shares = [percent(line[key]) for key in ("cells", "pixel_votes_100", "pixel_votes_all")]
        radii = [round_down(line[key], 3) for key in ("class", "class_cohen")]
        found.append(" | ".join([line["model"], f"{line['sigma']:g}", str(line["photos"]), *shares, *radii]))
    return "\n".join(f"| {line} |" for line in found)


def main() -> None:
    """Compare on everything that is stored."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=Path, required=True)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    lines = [compare(arch, sigma, paths) for (arch, sigma), paths in groups(chosen.draws).items()]
    OUT.with_suffix(".json").write_text("[\n" + ",\n".join(json.dumps(line) for line in lines) + "\n]\n")
    OUT.with_suffix(".md").write_text(f"{ABOUT}\n{markdown(lines)}\n")
    before, after = PAGE.read_text().split("<!-- peers-table -->")
    after = after.partition("<!-- end -->")[2]
    PAGE.write_text(f"{before}<!-- peers-table -->\n\n{markdown(lines)}\n\n<!-- end -->{after}")
    print(markdown(lines))


if __name__ == "__main__":
    main()
