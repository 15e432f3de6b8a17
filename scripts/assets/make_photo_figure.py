"""The photograph of the README.

`python scripts/assets/make_photo_figure.py --model FILE`, FILE fetched by `data fetch`. Certifies centred Grad-CAM of
an unmodified EfficientNet-Lite0 on a shipped photograph, attacks it at four times the certified epsilon, and draws
input, plain, smoothed and attacked map, attacked input, change, trust mask and curve. Three minutes of one core; writes
docs/images/photo.png.
"""

import argparse
from pathlib import Path

import torch
from PIL import Image

import attribound as ab
from attribound.attacks.base import make_problem
from attribound.attacks.direct import Direct
from attribound.data import open_data
from attribound.fields.families import Around
from attribound.models import load_model
from attribound.report.figures import plots

OUT = Path(__file__).parents[2] / "docs" / "images" / "photo.png"


def main() -> None:
    """Certify, attack, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--item", type=int, default=0)
    parser.add_argument("--samples", type=int, default=1024)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    x, noise = open_data("photos").input(chosen.item), ab.Gaussian(0.1)
    field = ab.Unit(ab.GradCAM(load_model(chosen.model, "efficientnet-lite0")))
    certificate = ab.certify(field, x, noise=noise, samples=chosen.samples, cells=(0.5, 0.3), seed=0, batch=8)
    print(certificate, certificate.fidelity, flush=True)
    plain = field.base.attribute(x[None], certificate.target)[0].detach()
    family, epsilon = Around(field, certificate.target, x), 4 * certificate.max_epsilon(0.8)
    problem = make_problem(family, noise, epsilon, samples=256)
    found = Direct(steps=12, samples=12, keep_label=False, rescore_samples=256).run(problem)
    print(found, flush=True)
    plots.save(ab.plot(certificate, x, plain, attacked=found, fraction=0.5, epsilon=0.1), OUT)
    with Image.open(OUT) as drawn:
        drawn.convert("RGB").quantize(256).save(OUT, optimize=True)


if __name__ == "__main__":
    main()
