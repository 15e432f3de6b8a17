"""Attack certified Grad-CAM maps of photos.

`python scripts/experiments/attack_photos.py --model FILE --arch A --photos DIR ...`. The direct attack at 1, 2 and 4
times the epsilon certified at cosine 0.8 from the draws of scripts/experiments/measure_imagenet.py. Writes
results/imagenet-attacks.json, attack by attack: run again to resume. A change need not keep the prediction. A minute or
two of one core per attack.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from imagenet_table import COSINE, prove

from attribound.attacks.base import make_problem
from attribound.attacks.direct import Direct
from attribound.data.folder import Folder
from attribound.fields import GradCAM, Unit
from attribound.fields.families import Around
from attribound.models import load_model
from attribound.noise import Gaussian

OUT = Path(__file__).parents[2] / "results" / "imagenet-attacks.json"
MULTIPLES = (1, 2, 4)
ATTACK = Direct(steps=12, samples=12, keep_label=False, rescore_samples=256)


def main() -> None:
    """Attack the photos that have no entry yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--arch", required=True)
    parser.add_argument("--photos", nargs="+", required=True)
    parser.add_argument("--draws", type=Path, required=True)
    parser.add_argument("--sigma", type=float, default=0.1)
    parser.add_argument("--items", type=int, default=4)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    field, noise = Unit(GradCAM(load_model(chosen.model, chosen.arch))), Gaussian(chosen.sigma)
    found = json.loads(OUT.read_text()) if OUT.exists() else []
    photos = [folder.input(index) for folder in map(Folder, chosen.photos) for index in range(len(folder))]
    for item, x in enumerate(photos[: chosen.items]):
        stored = dict(np.load(chosen.draws / f"{chosen.arch}-{chosen.sigma:g}-{item:02d}.npz"))
        evidence = prove(stored, chosen.sigma, "gradcam")[0].evidence
        epsilon = float(evidence.max_epsilon(COSINE))
        key = {"model": chosen.arch, "sigma": chosen.sigma, "photo": str(stored["name"])}
        left = [m for m in MULTIPLES if not any({**key, "multiple": m}.items() <= one.items() for one in found)]
        if not left:
            continue
        problem = make_problem(Around(field, int(stored["target"]), x), noise, epsilon, samples=256)
        for multiple in left:
            result = ATTACK.run(replace(problem, epsilon=multiple * epsilon))
            found.append(
                {
                    **key,
                    "multiple": multiple,
                    "epsilon": multiple * epsilon,
                    "certified": float(evidence.cosine(multiple * epsilon)),
                    "cosine": result.cosine,
                    "cosine_most": result.score.cosine_most,
                    "length": result.length,
                    "label_kept": result.label_kept,
                    "seconds": round(result.seconds),
                }
            )
            OUT.write_text(json.dumps(found, indent=1) + "\n")
            print(json.dumps(found[-1]), flush=True)


if __name__ == "__main__":
    main()
