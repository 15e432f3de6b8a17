"""Denoising: the mean squared error of pictures that noise of a random level was added to."""

from dataclasses import dataclass
from typing import Any, final

import torch
from torch import Tensor, nn

from attribound.data import Dataset
from attribound.noise import Gaussian
from attribound.training.base import Objective

LEVELS = (0.1, 0.25, 0.5)
"""Noise levels at which a denoiser's card says what it reaches."""


@final
@dataclass(frozen=True)
class Denoise(Objective):
    """Squared error of the denoised picture, on pictures turned and mirrored at random.

    Attributes:
        low: smallest noise level.
        high: largest noise level.
    """

    low: float = 0.05
    high: float = 0.55

    def loss(self, model: nn.Module, inputs: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        """Mean squared error in units of the level: errors grow about like it, so that all levels count alike."""
        return self.attempt(model, turned(inputs, generator), generator)[1]

    def attempt(self, model: nn.Module, pictures: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """The pictures denoised after noise was added, and the loss of that."""
        sigma = torch.rand(len(pictures), generator=generator) * (self.high - self.low) + self.low
        level = sigma.view(-1, 1, 1, 1)
        denoised: Tensor = model(pictures + level * torch.randn(pictures.shape, generator=generator), sigma)
        return denoised, ((denoised - pictures).square() / level).mean()


def turned(pictures: Tensor, generator: torch.Generator) -> Tensor:
    """The whole batch turned by a multiple of 90 degrees and mirrored or not: square pictures only."""
    turns, mirror = (int(value) for value in torch.randint(0, 4, (2,), generator=generator))
    moved = torch.rot90(pictures, turns, dims=(2, 3))
    return moved.flip(3) if mirror % 2 else moved


def psnr(denoiser: nn.Module, data: Dataset, sigma: float, seed: int = 0) -> float:
    """Mean over the pictures of 10 log10(1 / mean squared error), in dB, with one draw of noise each; not clipped."""
    generator = torch.Generator().manual_seed(seed)
    values = []
    with torch.no_grad():
        for chosen in torch.arange(len(data)).split(32):
            pictures = data.images(chosen)
            noisy = Gaussian(sigma).onto(pictures, generator)
            error = (denoiser(noisy, torch.full((len(pictures),), sigma)) - pictures).square()
            values.append(-10 * error.mean(dim=(1, 2, 3)).log10())
    return float(torch.cat(values).mean())


def measure_denoising(denoiser: nn.Module, test: Dataset) -> dict[str, Any]:
    """What a denoiser's card says of pictures that it did not learn from."""
    return {
        "test_data": test.name,
        "test_inputs": len(test),
        "psnr": {f"{sigma:g}": psnr(denoiser, test, sigma) for sigma in LEVELS},
    }
