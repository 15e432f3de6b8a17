"""What the denoiser of photographs gives an ImageNet model back.

`python scripts/experiments/measure_photos.py --resnet50 DIR`. DIR is what `attribound data fetch resnet50` writes,
`--held-out` what scripts/assets/make_patches.py does. Measures the share of noisy copies of the 20 labelled photographs
that ResNet-50 classifies correctly, without and with the denoiser, and writes `results/photos.json`.
"""

import argparse
import json
from pathlib import Path

import torch
from torch import Tensor, nn

from attribound.data import Arrays, Dataset, open_data
from attribound.models import Denoised, load_denoiser, load_model
from attribound.noise import Gaussian
from attribound.training import accuracy, psnr

RESULT = Path(__file__).parents[2] / "results" / "photos.json"
LABELLED = 20


def copies(data: Dataset, draws: int) -> Dataset:
    """Every labelled photograph as often as there are draws."""
    images, labels = data.batch([index for index in range(LABELLED) for _ in range(draws)])
    return Arrays(images, labels)


class Small(nn.Module):
    """A model that takes its batch in parts, so that 512 photographs fit into memory."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, images: Tensor) -> Tensor:
        """(B, 3, H, W) to (B, K)."""
        return torch.cat([self.model(part) for part in images.split(16)])


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--resnet50", type=Path, required=True)
    parser.add_argument("--held-out", type=Path, default=Path("data/denoising/held-out.npz"))
    parser.add_argument("--draws", type=int, default=8)
    chosen = parser.parse_args()
    model = load_model(str(chosen.resnet50 / "resnet50.safetensors"), "resnet50-keras")
    denoiser, data = load_denoiser("denoiser-photos"), open_data(f"npz:{chosen.held_out}")
    noisy, rows = copies(data, chosen.draws), []
    for sigma in (0.1, 0.25, 0.5):
        denoised = Denoised(model, denoiser, sigma=sigma)
        row = {
            "sigma": sigma,
            "psnr": psnr(denoiser, data, sigma),
            "accuracy": accuracy(Small(model), noisy, Gaussian(sigma)),
            "accuracy_denoised": accuracy(Small(denoised), noisy, Gaussian(sigma)),
        }
        rows.append(row)
        print(json.dumps(row), flush=True)
    command = f"python scripts/experiments/measure_photos.py --resnet50 DIR --held-out FILE --draws {chosen.draws}"
    clean = accuracy(Small(model), copies(data, 1))
    RESULT.write_text(json.dumps({"command": command, "accuracy": clean, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
