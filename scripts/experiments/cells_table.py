"""Certified cells against the peer's, on the same draws: `python scripts/experiments/cells_table.py --draws DIR`.

Reads the draws of scripts/experiments/measure_imagenet.py and writes results/cells.json and .md. The peer is Anani et
al. (ICML 2025) as in `attribound.baselines.pixel_votes`, on the cells of the map itself.
"""

import argparse
import json
import statistics
from pathlib import Path

import numpy as np
import torch
from imagenet_table import ALPHA, DIM, SHAPES, Stored, groups, stored_family, unit

from attribound.baselines.pixel_votes import certify_pixels
from attribound.bounds.cells import Votes
from attribound.certificates.statements import registry
from attribound.certification.method import estimate
from attribound.noise import Gaussian
from attribound.sampling import Plan
from attribound.sampling.votes import mark_cells

OUT = Path(__file__).parents[2] / "results" / "cells"
FRACTION, NEEDED = 0.5, 0.75
"""The peer's setting: the hotter half, proved by a probability of 0.75; the radius is then 0.674 sigma."""
DRAWS = (100, 1000)
COLUMNS = ("ours", "alone", "peer", "endless")
ABOUT = """# Certified cells of Grad-CAM, ours and the peer's

Made by `scripts/experiments/measure_imagenet.py` (draws) and `scripts/experiments/cells_table.py` (this page and
`cells.json`). Centred Grad-CAM of the last stage (7 x 7), the hotter half of its cells, alpha 0.001, Gaussian noise. A
cell counts if it is proved to stay in its half under every change up to R = 0.674 sigma, the peer's radius. *Peer*:
Anani et al. (ICML 2025), all of alpha for this one statement, ten draws to choose each cell's side. *Ours alone*: our
test with all of alpha. *Ours*: what `certify` gives, where an eighth of alpha pays for the cells (half of it for maps
sampled at an attacked input) and the rest for the map's cosine at every epsilon, the class and error bars, all true at
once; and every cell has a radius of its own. Shares are means over the photos. The peer's paper reports 61 to 68 % for
Grad-CAM of ResNet-50 with 100 draws, on pixels of a map enlarged to the photo's size, so that is not the same
statement. *Endless draws*: the share of cells that are on one side in at least 75 % of these draws, about what any rule
that counts sides could prove with any number of draws.
"""


def ours(stored: dict[str, np.ndarray], draws: int, sigma: float, radius: float) -> tuple[float, float]:
    """Shares of proved cells: with everything else proved too, and alone."""
    maps = unit(SHAPES["gradcam"](torch.from_numpy(stored["maps"])))[:draws]
    classes = torch.from_numpy(stored["classes"])[:draws]
    rows, found = max(draws // 16, 1), []
    for statistics_ in (registry.statistics(cells=(FRACTION,)), alone()):
        design = Stored(maps, classes, rows, Gaussian(sigma))
        result = estimate(stored_family(DIM), design, Plan(draws, ALPHA), maps.shape[1:], statistics_)
        radii = result.evidence.fact(Votes).radii(FRACTION, result.evidence.law)[1]
        found.append(float((radii >= radius).mean()))
    return found[0], found[1]


def alone() -> list:
    """The votes with nearly all of alpha; the norm, which `estimate` cannot do without, gets the rest."""
    chosen = [one for one in registry.statistics(cells=(FRACTION,)) if type(one).__name__ in ("Norm", "VoteCount")]
    for one, share in zip(chosen, (0.001, 0.999), strict=True):
        one.share = share
    return chosen


def peer(stored: dict[str, np.ndarray], draws: int) -> float:
    """The peer's share of certified cells."""
    maps = unit(SHAPES["gradcam"](torch.from_numpy(stored["maps"])))[:draws].numpy()
    return float((certify_pixels(maps, FRACTION, needed=NEEDED, alpha=ALPHA) != 0).mean())


def endless(stored: dict[str, np.ndarray], draws: int) -> float:
    """The share of cells that are on one side often enough, if the draws' frequencies were the probabilities."""
    maps = unit(SHAPES["gradcam"](torch.from_numpy(stored["maps"])))[:draws].flatten(1)
    hot = (mark_cells(maps.numpy(), FRACTION) > 0).mean(axis=0)
    return float((np.maximum(hot, 1 - hot) >= NEEDED).mean())


def line(arch: str, sigma: float, paths: list[Path], draws: int) -> dict:
    """One line of the table."""
    radius = float(Gaussian(sigma).law(DIM).majority_radius(NEEDED))
    shares = []
    for path in paths:
        stored = dict(np.load(path))
        shares.append((*ours(stored, draws, sigma, radius), peer(stored, draws), endless(stored, draws)))
    means = {name: statistics.fmean(row[k] for row in shares) for k, name in enumerate(COLUMNS)}
    return {"model": arch, "sigma": sigma, "radius": radius, "draws": draws, "photos": len(paths), **means}


def markdown(lines: list[dict]) -> str:
    """The table."""
    head = "| model | sigma | R | draws | photos | ours | ours alone | peer | endless draws |\n" + 9 * "|---" + "|"
    rows = [
        f"| {one['model']} | {one['sigma']:g} | {one['radius']:.3f} | {one['draws']:,} | {one['photos']} | "
        + " | ".join(f"{100 * one[name]:.1f} %" for name in COLUMNS)
        + " |"
        for one in lines
    ]
    return "\n".join([head, *rows])


GRIDS = """
## Certified GridPG

Made by `scripts/experiments/measure_gridpg.py` (`gridpg.json`): grids of 2 x 2 photographs, each explained for the
class of each of its four; sigma and draws as named. The share of the smoothed map, and of the cells proved hot at R by
each method, that lie in the right quarter (chance: 25 %), and the share of cells that each method decides.

| model | hot | explanations | smoothed map | ours | peer | decided, ours | decided, peer |
|---|---|---|---|---|---|---|---|
"""


def grids() -> str:
    """The table of certified GridPG, from its file."""
    rows = []
    for name, found in json.loads((OUT.parent / "gridpg.json").read_text()).items():
        for fraction, mean in found["mean"].items():
            keys = ("smoothed", "ours", "peer", "ours_decided", "peer_decided")
            shares = " | ".join(f"{100 * mean[key]:.1f} %" for key in keys)
            rows.append(f"| {name} | {100 * float(fraction):g} % | {4 * len(found['grids'])} | {shares} |")
    return GRIDS + "\n".join(rows) + "\n"


def main() -> None:
    """All stored draws."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=Path, required=True)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    found = [
        line(arch, sigma, paths, draws) for (arch, sigma), paths in groups(chosen.draws).items() for draws in DRAWS
    ]
    OUT.with_suffix(".json").write_text("[\n" + ",\n".join(json.dumps(one) for one in found) + "\n]\n")
    OUT.with_suffix(".md").write_text(f"{ABOUT}\n{markdown(found)}\n{grids()}")
    print(markdown(found))


if __name__ == "__main__":
    main()
