"""A denoiser from elsewhere beside ours.

`python scripts/experiments/compare_srmd.py --srmd FILE --patches FILE --held-out FILE`. FILE are what `attribound data
fetch srmd` and scripts/assets/make_patches.py write. SRMD (Zhang et al. 2018) is a network of twelve convolutions that
sharpens, enlarges and denoises at once; fifteen of its inputs describe the blur. Which values mean *no blur, and our
way of making the picture small again* is not written anywhere, so these fifteen numbers are fitted on patches of
training photographs. Writes results/srmd.json. The licence of the weights is unclear, so they are compared with and
never shipped.
"""

import argparse
import json
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

from attribound.data import Dataset, open_data
from attribound.models import load_denoiser
from attribound.training import psnr

OUT = Path(__file__).parents[2] / "results" / "srmd.json"
SIGMAS, CONSTANTS, LAYERS = (0.1, 0.25, 0.5), 15, 12
STEPS, BATCH, RATE = 150, 8, 0.05


class Srmd(nn.Module):
    """The fetched network as a denoiser: enlarged twice by its last layer, and made small again by means of 2 x 2."""

    def __init__(self, weights: dict[str, Tensor]) -> None:
        super().__init__()
        self.weights = weights
        self.constants = nn.Parameter(torch.zeros(CONSTANTS))

    def forward(self, images: Tensor, sigma: Tensor) -> Tensor:
        """(B, 3, H, W) noisy to (B, 3, H, W)."""
        count, _, height, width = images.shape
        blur = self.constants.view(1, -1, 1, 1).expand(count, -1, height, width)
        x = torch.cat([images, blur, sigma.view(-1, 1, 1, 1).expand(count, 1, height, width)], dim=1)
        for number in range(LAYERS):
            x = functional.conv2d(x, self.weights[f"{number}.weight"], self.weights[f"{number}.bias"], padding=1)
            x = functional.relu(x) if number < LAYERS - 1 else x
        return functional.avg_pool2d(functional.pixel_shuffle(x, 2), 2)


def fit(network: Srmd, data: Dataset) -> None:
    """Fit the fifteen numbers by gradient descent on noisy patches."""
    generator = torch.Generator().manual_seed(0)
    optimiser = torch.optim.Adam([network.constants], lr=RATE)
    for step in range(STEPS):
        images = data.batch(torch.randint(len(data), (BATCH,), generator=generator).tolist())[0]
        sigma = 0.05 + 0.45 * torch.rand(BATCH, generator=generator)
        noisy = images + sigma.view(-1, 1, 1, 1) * torch.randn(images.shape, generator=generator)
        loss = functional.mse_loss(network(noisy, sigma), images)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % 25 == 0:
            print(f"step {step}: {loss.item():.5f}", flush=True)


def main() -> None:
    """Fit, measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--srmd", "--patches", "--held-out"):
        parser.add_argument(name, type=Path, required=True)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    theirs, ours = Srmd(load_file(chosen.srmd)), load_denoiser("denoiser-photos")
    fit(theirs, open_data(f"npz:{chosen.patches}"))
    data, rows = open_data(f"npz:{chosen.held_out}"), []
    for sigma in SIGMAS:
        rows.append({"sigma": sigma, "srmd": psnr(theirs, data, sigma), "denoiser-photos": psnr(ours, data, sigma)})
        print(json.dumps(rows[-1]), flush=True)
    weights = {"srmd": sum(one.numel() for one in theirs.weights.values())}
    weights["denoiser-photos"] = sum(one.numel() for one in ours.parameters())
    OUT.write_text(
        json.dumps({"weights": weights, "constants": theirs.constants.tolist(), "rows": rows}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()
