"""The class against Cohen et al. on the same draws, and the tables of docs/compare.md.

`python scripts/experiments/compare_class.py --draws DIR` reads the draws of scripts/experiments/measure_imagenet.py and
writes results/class.json and .md; it then puts that table and the one of results/cells.json
(scripts/experiments/cells_table.py: run it first) into docs/compare.md. Without --draws the tables are only put there
again.
"""

import argparse
import json
import statistics
from pathlib import Path

import numpy as np
import torch
from imagenet_table import ALPHA, groups, photo_row
from scipy.stats import norm

from attribound.bounds import proportion_lower
from attribound.rounding import percent, round_down

ROOT = Path(__file__).parents[2]
OUT, CELLS, PAGE = ROOT / "results" / "class", ROOT / "results" / "cells.json", ROOT / "docs" / "compare.md"
GUESS = 100
ABOUT = """# The smoothed class, ours and Cohen's

Made by `python scripts/experiments/compare_class.py --draws DIR` from the draws of
`scripts/experiments/measure_imagenet.py`: Gaussian noise, alpha 0.001, medians over the photos of the radius within
which the smoothed class is proved to stay; 0 where no class is proved. *Cohen*: Cohen et al. (ICML 2019), 100 draws to
choose the class, all of alpha for this one statement. *Ours*: from the same draws as the map's cosine, its cells and
error bars, all true at once.
"""


def cohen(classes: np.ndarray, sigma: float) -> float:
    """The radius of the class that the first draws choose; 0.0 where it abstains."""
    guess, left = int(np.bincount(classes[:GUESS]).argmax()), classes[GUESS:]
    lower = float(proportion_lower(int((left == guess).sum()), len(left), ALPHA))
    return sigma * float(norm.ppf(lower)) if lower > 0.5 else 0.0


def compare(arch: str, sigma: float, paths: list[Path]) -> dict:
    """One line of the table."""
    ours = [photo_row(path, sigma, "gradcam")[0]["prediction_radius"] for path in paths]
    theirs = [cohen(np.load(path)["classes"], sigma) for path in paths]
    radii = {"ours": statistics.median_low(ours), "cohen": statistics.median_low(theirs)}
    return {"model": arch, "sigma": sigma, "photos": len(paths), **radii}


def class_table(lines: list[dict]) -> str:
    """Radii, rounded down."""
    rows = [
        f"{one['model']} | {one['sigma']:g} | {one['photos']} | {round_down(one['ours'], 3)} | "
        f"{round_down(one['cohen'], 3)}"
        for one in lines
    ]
    return _table("model | sigma | photos | class, ours | class, Cohen", rows)


def cells_table(lines: list[dict]) -> str:
    """Shares, rounded down."""
    rows = [
        f"{one['model']} | {one['sigma']:g} | {one['draws']:,} | "
        + " | ".join(percent(one[name]) for name in ("ours", "alone", "peer"))
        for one in lines
    ]
    return _table("model | sigma | draws | cells, ours | ours, all of alpha | pixel votes", rows)


def _table(head: str, rows: list[str]) -> str:
    return "\n".join(f"| {row} |" for row in [head, " | ".join("---" for _ in head.split(" | ")), *rows])


def put(page: str, name: str, table: str) -> str:
    """The page with the table between its marks."""
    before, mark, after = page.partition(f"<!-- {name} -->")
    end = "<!-- end -->"
    return f"{before}{mark}\n\n{table}\n\n{end}{after.partition(end)[2]}"


def main() -> None:
    """Measure if asked, then write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=Path)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    if chosen.draws:
        lines = [compare(arch, sigma, paths) for (arch, sigma), paths in groups(chosen.draws).items()]
        OUT.with_suffix(".json").write_text("[\n" + ",\n".join(json.dumps(one) for one in lines) + "\n]\n")
        OUT.with_suffix(".md").write_text(f"{ABOUT}\n{class_table(lines)}\n")
    radii, shares = (json.loads(path.read_text()) for path in (OUT.with_suffix(".json"), CELLS))
    page = put(PAGE.read_text(), "class-table", class_table(radii))
    PAGE.write_text(put(page, "cells-table", cells_table(shares)))
    print(class_table(radii))


if __name__ == "__main__":
    main()
