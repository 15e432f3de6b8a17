"""The tolerance sheet of the README.

`python scripts/assets/make_sheet_figure.py --model FILE`, FILE fetched by `data fetch`. Asks how far a shipped
photograph may turn, darken or be recompressed before Grad-CAM of an unmodified EfficientNet-Lite0 changes. Some
minutes of one core; writes docs/images/sheet.png.
"""

import argparse
from pathlib import Path

import torch
from PIL import Image

import attribound as ab
from attribound.data import open_data
from attribound.models import load_model
from attribound.report.figures import plots

OUT = Path(__file__).parents[2] / "docs" / "images" / "sheet.png"
CHANGES = ("rotation:45", "zoom:50%", "contrast:2.5", "gamma:2.5", "brightness:102", "jpeg:10", "shift-x:40")


def main() -> None:
    """Ask, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--item", type=int, default=1)
    parser.add_argument("--samples", type=int, default=1024)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    field = ab.Unit(ab.GradCAM(load_model(chosen.model, "efficientnet-lite0")))
    photo = open_data("photos").input(chosen.item)
    sheet = ab.tolerance(field, photo, CHANGES, samples=chosen.samples)
    print(sheet, flush=True)
    plots.save(ab.plot(sheet, photo), OUT)
    with Image.open(OUT) as drawn:
        drawn.convert("RGB").quantize(256).save(OUT, optimize=True)


if __name__ == "__main__":
    main()
