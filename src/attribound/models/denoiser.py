"""A small denoiser for colour pictures, to be put in front of a classifier that never saw noise."""

from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional

from attribound.errors import ArgumentError

_STEP = 8
"""Sides are padded to a multiple of this: pixels are taken in pairs, then halved twice."""

_GREY, _SPREAD = 0.5, 0.25
"""About the mean and the deviation of the pixels of photographs."""


@final
class Denoiser(nn.Module):
    """A U-Net at half resolution (Ronneberger et al. 2015) that is told the noise level: 0.42 million weights.

    As in FFDNet (Zhang et al. 2018), 2 x 2 pixels become channels and the level is one more channel. The network gives
    what is missing from the best guess pixel by pixel (shrink towards grey), in the units of that guess's error (Karras
    et al. 2022), so one set of weights serves all levels. A linear filter beside it learns the plain smoothing at once.
    """

    def __init__(self, widths: tuple[int, int, int] = (32, 64, 96)) -> None:
        super().__init__()
        first, second, third = widths
        self.enter = nn.Sequential(*_convolution(13, first), *_convolution(first, first))
        self.down1 = nn.Sequential(*_convolution(first, second, stride=2), *_convolution(second, second))
        self.down2 = nn.Sequential(
            *_convolution(second, third, stride=2), *_convolution(third, third), *_convolution(third, third)
        )
        self.up2 = nn.Conv2d(third, 4 * second, 1)
        self.join2 = nn.Sequential(*_convolution(second, second), *_convolution(second, second))
        self.up1 = nn.Conv2d(second, 4 * first, 1)
        self.join1 = nn.Sequential(*_convolution(first, first), *_convolution(first, first))
        self.leave = nn.Conv2d(first, 12, 3, padding=1)
        self.linear = nn.Conv2d(13, 12, 5, padding=2)
        for last in (self.leave, self.linear):
            nn.init.zeros_(last.weight)
        # .to() has no types for the memory format of modules.
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, images: Tensor, sigma: Tensor) -> Tensor:
        """Noisy pictures (B, 3, H, W) and their noise levels (B,) to clean pictures (B, 3, H, W)."""
        if images.ndim != 4 or images.shape[1] != 3:
            raise ArgumentError(f"expected colour pictures (3, H, W) to denoise, got {tuple(images.shape[1:])}")
        height, width = images.shape[-2:]
        padded = functional.pad(images, (0, -width % _STEP, 0, -height % _STEP), mode="replicate")
        level = sigma.view(-1, 1, 1, 1)
        scale = (level.square() + _SPREAD**2).sqrt()
        shrunk = _GREY + (images - _GREY) * (_SPREAD / scale).square()
        pixels = functional.pixel_unshuffle((padded - _GREY) / scale, 2)
        residual = functional.pixel_shuffle(self._residual(pixels, level), 2)
        return shrunk + level * _SPREAD / scale * residual[..., :height, :width]

    def _residual(self, pixels: Tensor, level: Tensor) -> Tensor:
        channel = level.expand(len(pixels), 1, *pixels.shape[-2:])
        told = torch.cat([pixels, channel], dim=1).contiguous(memory_format=torch.channels_last)
        full = self.enter(told)
        half = self.down1(full)
        quarter = self.down2(half)
        half = self.join2(half + functional.pixel_shuffle(self.up2(quarter), 2))
        full = self.join1(full + functional.pixel_shuffle(self.up1(half), 2))
        residual: Tensor = self.leave(full) + self.linear(told)
        return residual


def _convolution(before: int, after: int, stride: int = 1) -> tuple[nn.Conv2d, nn.ReLU]:
    layer = nn.Conv2d(before, after, 3, stride, 1)
    # torch's default shrinks the signal in every layer, and without batch norm nothing brings it back.
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    return layer, nn.ReLU()
