"""Residual networks (He et al. 2016), with torchvision's names for the weights.

`resnet50` takes weights made for torchvision's ResNet-50; `resnet50_keras` is the original layout of the weights that
`attribound data fetch resnet50` gets: stride in the first 1 x 1, biases, BGR pixels minus their mean.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import final

import torch
from torch import Tensor, nn

from attribound.models.normalize import Normalize


@final
class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions and a shortcut."""

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu1 = nn.ReLU()
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.relu2 = nn.ReLU()
        self.downsample = _shortcut(before, width, stride)

    def forward(self, x: Tensor) -> Tensor:
        """(B, before, H, W) to (B, width, H / stride, W / stride)."""
        y = self.bn2(self.conv2(self.relu1(self.bn1(self.conv1(x)))))
        result: Tensor = self.relu2(y + self.downsample(x))
        return result


@final
class Bottleneck(nn.Module):
    """1 x 1, 3 x 3, 1 x 1 convolutions and a shortcut; `original` puts the stride first, adds biases, eps 1e-3."""

    def __init__(self, before: int, width: int, stride: int, original: bool) -> None:
        super().__init__()
        first, second = (stride, 1) if original else (1, stride)
        eps = 1e-3 if original else 1e-5
        self.conv1 = nn.Conv2d(before, width, 1, first, bias=original)
        self.bn1 = nn.BatchNorm2d(width, eps)
        self.relu1 = nn.ReLU()
        self.conv2 = nn.Conv2d(width, width, 3, second, 1, bias=original)
        self.bn2 = nn.BatchNorm2d(width, eps)
        self.relu2 = nn.ReLU()
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=original)
        self.bn3 = nn.BatchNorm2d(4 * width, eps)
        self.relu3 = nn.ReLU()
        self.downsample = _shortcut(before, 4 * width, stride, bias=original, eps=eps)

    def forward(self, x: Tensor) -> Tensor:
        """(B, before, H, W) to (B, 4 width, H / stride, W / stride)."""
        y = self.relu1(self.bn1(self.conv1(x)))
        y = self.bn3(self.conv3(self.relu2(self.bn2(self.conv2(y)))))
        result: Tensor = self.relu3(y + self.downsample(x))
        return result


def _shortcut(before: int, after: int, stride: int, bias: bool = False, eps: float = 1e-5) -> nn.Module:
    if stride == 1 and before == after:
        return nn.Identity()
    return nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=bias), nn.BatchNorm2d(after, eps))


@final
class ResNet(nn.Module):
    """Normalisation, stem, stages, mean over positions, one linear layer.

    Weights and images lie in memory channels last: a third faster on processors.

    Attributes:
        input_size: side of the pictures that it was made for; None: any.
    """

    input_size: int | None = None
    input_range = (0.0, 1.0)

    def __init__(self, normalize: Normalize, stem: Sequence[nn.Module], stages: Sequence[nn.Module], last: nn.Linear):
        super().__init__()
        self.normalize = normalize
        self.conv1, self.bn1, self.relu, self.maxpool = stem
        self.depth = len(stages)
        for number, stage in enumerate(stages, 1):
            self.add_module(f"layer{number}", stage)
        self.fc = last
        # .to() has no types for the memory format of modules.
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, images: Tensor) -> Tensor:
        """(B, 3, H, W) in [0, 1] to logits (B, K)."""
        x = self.normalize(images).contiguous(memory_format=torch.channels_last)
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        for number in range(1, self.depth + 1):
            x = self.get_submodule(f"layer{number}")(x)
        logits: Tensor = self.fc(x.mean(dim=(2, 3)))
        return logits


def resnet20(classes: int = 10) -> ResNet:
    """ResNet-20 for 32 x 32 images: 0.27 million weights."""
    return _cifar(widths=(16, 32, 64), blocks=3, classes=classes)


def resnet18(classes: int = 10) -> ResNet:
    """ResNet-18 with the stem for 32 x 32 images: 11 million weights."""
    return _cifar(widths=(64, 128, 256, 512), blocks=2, classes=classes)


def resnet50(classes: int = 1000) -> ResNet:
    """ResNet-50 in torchvision's layout."""
    normalize = Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    return _imagenet(normalize, classes, original=False)


def resnet50_keras(classes: int = 1000) -> ResNet:
    """ResNet-50 in the original layout, as Keras has it."""
    normalize = Normalize((103.939 / 255, 116.779 / 255, 123.68 / 255), (1 / 255,) * 3, order=(2, 1, 0))
    return _imagenet(normalize, classes, original=True)


def _cifar(widths: Sequence[int], blocks: int, classes: int) -> ResNet:
    normalize = Normalize((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))
    stem = (nn.Conv2d(3, widths[0], 3, 1, 1, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU(), nn.Identity())
    stages = _stages(BasicBlock, widths[0], [(width, width, blocks) for width in widths])
    return ResNet(normalize, stem, stages, nn.Linear(widths[-1], classes))


def _stages(
    block: Callable[[int, int, int], nn.Module], before: int, sizes: Sequence[tuple[int, int, int]]
) -> list[nn.Module]:
    """A stage for every (width, channels that come out, blocks); all but the first halve the picture."""
    stages: list[nn.Module] = []
    for number, (width, after, blocks) in enumerate(sizes):
        first = block(before, width, 2 if number else 1)
        stages.append(nn.Sequential(first, *(block(after, width, 1) for _ in range(blocks - 1))))
        before = after
    return stages


def _imagenet(normalize: Normalize, classes: int, original: bool) -> ResNet:
    stem = (
        nn.Conv2d(3, 64, 7, 2, 3, bias=original),
        nn.BatchNorm2d(64, 1e-3 if original else 1e-5),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
    )
    sizes = [(width, 4 * width, blocks) for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3))]
    stages = _stages(partial(Bottleneck, original=original), 64, sizes)
    model = ResNet(normalize, stem, stages, nn.Linear(sizes[-1][1], classes))
    model.input_size = 224
    return model
