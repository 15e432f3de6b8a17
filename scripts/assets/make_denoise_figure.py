"""Draw docs/images/denoised.jpg: `python scripts/assets/make_denoise_figure.py --resnet50 DIR`.

A photograph, a noisy copy (sigma 0.25), what the denoiser makes of it, and ResNet-50's smoothed saliency without and
with the denoiser, each for the class that the model sees in the clean photograph. About two minutes on one core.
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import torch
from matplotlib import pyplot
from torch import Tensor, nn

from attribound.data import open_data
from attribound.models import Denoised, load_denoiser, load_model
from attribound.noise import Gaussian

OUT = Path(__file__).parents[2] / "docs" / "images" / "denoised.jpg"
SIGMA, BATCH = 0.25, 8


def smoothed(model: nn.Module, x: Tensor, target: int, draws: int) -> tuple[Tensor, float]:
    """Mean of the normalised gradients over noisy copies, (C, H, W), and the share of copies that keep the class."""
    generator, total, kept = torch.Generator().manual_seed(0), torch.zeros_like(x), 0
    for _ in range(draws // BATCH):
        points = (x + Gaussian(SIGMA).draw(BATCH, x, generator)).requires_grad_(True)
        logits = model(points)
        kept += int((logits.argmax(dim=1) == target).sum())
        gradients = torch.autograd.grad(logits[:, target].sum(), points)[0]
        total += (gradients / gradients.flatten(1).norm(dim=1).view(-1, 1, 1, 1)).sum(dim=0)
    return total / draws, kept / draws


def heat(saliency: Tensor) -> Tensor:
    """Size of the map in cells of 4 x 4 pixels, for the eye."""
    return nn.functional.avg_pool2d(saliency.abs().sum(dim=0)[None], 4)[0]


def main() -> None:
    """Compute the panels and save them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--resnet50", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=64)
    chosen = parser.parse_args()
    model = load_model(str(chosen.resnet50 / "resnet50.safetensors"), "resnet50-keras")
    denoised = Denoised(model, load_denoiser("denoiser-photos"), sigma=SIGMA)
    photos = open_data("photos")
    rows = [photos.input(index) for index in range(len(photos))]
    figure, axes = pyplot.subplots(len(rows), 5, figsize=(9, 1.95 * len(rows)), layout="constrained")
    for x, line in zip(rows, axes, strict=True):
        with torch.no_grad():
            target = int(model(x[None]).argmax())
            noisy = x + Gaussian(SIGMA).draw(1, x, torch.Generator().manual_seed(1))[0]
            clean = denoised.denoise(noisy[None])[0]
        maps = [smoothed(each, x, target, chosen.draws) for each in (model, denoised)]
        for axis, picture in zip(line[:3], (x, noisy, clean), strict=True):
            axis.imshow(picture.clamp(0, 1).permute(1, 2, 0))
        for axis, (saliency, kept) in zip(line[3:], maps, strict=True):
            axis.imshow(heat(saliency), cmap="magma")
            axis.set_xlabel(f"class kept: {kept:.0%}", fontsize=7)
        for axis in line:
            axis.set_xticks([])
            axis.set_yticks([])
    for axis, title in zip(axes[0], ("photo", "noisy", "denoised", "map without", "map with"), strict=True):
        axis.set_title(title, fontsize=9)
    figure.savefig(OUT, dpi=80, pil_kwargs={"quality": 82, "optimize": True})


if __name__ == "__main__":
    main()
