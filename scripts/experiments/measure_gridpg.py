"""Certified GridPG of ImageNet networks.

`python scripts/experiments/measure_gridpg.py --model FILE --arch A --photos DIR`. Grids of 2 x 2 photographs (448 x 448
pixels), each explained for the class of each of its four photographs by centred Grad-CAM: how much of the smoothed map,
and how many of the cells that are *proved* hot, lie in the right quarter. Ours beside the peer's method (Anani et al.
2025) on the same draws. Writes results/gridpg.json, grid by grid: run again to resume.
"""

import argparse
import json
import statistics
from pathlib import Path

import numpy as np
import torch
from imagenet_table import ALPHA, Stored
from torch import Tensor

from attribound.baselines.pixel_votes import certify_pixels
from attribound.bounds.cells import Votes
from attribound.certificates.statements import registry
from attribound.certification.method import estimate
from attribound.data.folder import Folder
from attribound.fields import GradCAM, Unit
from attribound.metrics import certified_grid_pointing_game, grid_pointing_game, make_grid
from attribound.models import load_model
from attribound.noise import Gaussian
from attribound.sampling import Around, AtPoint, Plan

OUT = Path(__file__).parents[2] / "results" / "gridpg.json"
FRACTIONS, NEEDED = (0.5, 0.25), 0.75
"""The peer's half; and a quarter, which is what the right photograph takes of the grid."""


def rows(field: Unit, noise: Gaussian, samples: int, images: Tensor, targets: list[int], number: int) -> list[dict]:
    """One row per (photograph, fraction): GridPG, certified GridPG of both methods, shares of cells they decide."""
    grid, found = make_grid(images), []
    for place, target in enumerate(targets):
        family, design = Around(field, target, grid), AtPoint(noise, item=4 * number + place, batch=2, classes=True)
        chunks = list(design.rounds(family, samples))
        maps, classes = (torch.cat([getattr(one, name) for one in chunks]) for name in ("maps", "classes"))
        side = round(maps.shape[1] ** 0.5)
        stored = Stored(maps, classes, design.chunk_rows(family, samples), noise)
        result = estimate(family, stored, Plan(samples, ALPHA), (side, side), registry.statistics(cells=FRACTIONS))
        radius = float(result.evidence.law.majority_radius(NEEDED))
        for fraction in FRACTIONS:
            sides, radii = result.evidence.fact(Votes).radii(fraction, result.evidence.law)
            marks = {
                "ours": np.where(radii >= radius, sides, 0),
                "peer": certify_pixels(maps.numpy(), fraction, needed=NEEDED, alpha=ALPHA),
            }
            row = {"fraction": fraction, "radius": radius, "smoothed": grid_pointing_game(result.map, place, 2)}
            for name, mark in marks.items():
                row[name] = certified_grid_pointing_game(mark.reshape(side, side), place, 2)
                row[f"{name}_decided"] = float(np.mean(mark != 0))
            found.append(row)
    return found


def main() -> None:
    """All grids that have no rows yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--arch", required=True)
    parser.add_argument("--photos", required=True)
    parser.add_argument("--sigma", type=float, default=0.15)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--grids", type=int, default=5)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    model, photos = load_model(chosen.model, chosen.arch), Folder(chosen.photos)
    field, noise = Unit(GradCAM(model)), Gaussian(chosen.sigma)
    stored = json.loads(OUT.read_text()) if OUT.exists() else {}
    key = f"{chosen.arch} sigma {chosen.sigma:g} draws {chosen.samples}"
    for number in range(chosen.grids):
        grids = stored.setdefault(key, {}).setdefault("grids", {})
        if str(number) in grids:
            continue
        images = torch.stack([photos.input(4 * number + place) for place in range(4)])
        with torch.no_grad():
            targets = [int(model(image[None]).argmax()) for image in images]
        grids[str(number)] = rows(field, noise, chosen.samples, images, targets, number)
        every = [row for grid in grids.values() for row in grid]
        stored[key]["mean"] = {
            f"{fraction:g}": {
                name: statistics.fmean(row[name] for row in every if row["fraction"] == fraction)
                for name in ("smoothed", "ours", "ours_decided", "peer", "peer_decided")
            }
            for fraction in FRACTIONS
        }
        OUT.write_text(json.dumps(stored, indent=1) + "\n")
        print(key, number, json.dumps(stored[key]["mean"]), flush=True)


if __name__ == "__main__":
    main()
