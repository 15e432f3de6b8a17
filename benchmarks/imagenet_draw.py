"""Seconds per draw on ResNet-50 at ImageNet's size: certificates against bare passes; the docs project from it.

The field is prepared once, as in a run over many photos: the probe that rows do not see each other is not counted, but
the calls made again during the sampling are, one of every sixteen here. Both have as many threads as torch takes.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

import attribound as ab
from attribound.models import resnet50
from attribound.models.resnet import ResNet
from attribound.training import fresh
from benchmarks.figure import Figure, race

DRAWS, BATCH, SIGMA = 256, 16, 0.25


def bare_gradient(model: ResNet, x: Tensor) -> None:
    """Saliency's forward and backward pass."""
    for _ in range(DRAWS // BATCH):
        points = (x + SIGMA * torch.randn(BATCH, *x.shape)).requires_grad_(True)
        torch.autograd.grad(model(points)[:, 0].sum(), points)


def bare_activations(model: ResNet, x: Tensor) -> None:
    """Grad-CAM's forward pass, and the gradient from the output to the last stage."""
    kept: list[Tensor] = []

    def keep(module: nn.Module, inputs: object, output: Tensor) -> Tensor:
        kept.append(output.requires_grad_(True))
        return kept[-1]

    handle = model.get_submodule("layer4").register_forward_hook(keep)
    for _ in range(DRAWS // BATCH):
        scores = model(x + SIGMA * torch.randn(BATCH, *x.shape))[:, 0].sum()
        torch.autograd.grad(scores, kept.pop())
    handle.remove()


def figure(name: str, field: ab.Field, bare: Callable[[ResNet, Tensor], None], x: Tensor) -> Figure:
    """One method against its bare passes."""
    prepared = ab.Certifier(ab.Unit(field), noise=ab.Gaussian(SIGMA), samples=DRAWS, batch=BATCH, threads=None)
    ours, peer, ratio = race(lambda: prepared(x, 0), lambda: bare(field.model, x), rounds=2)
    return Figure(name, ours / DRAWS, peer / DRAWS, ratio, "s")


def measure() -> list[Figure]:
    model = fresh(resnet50, 0).eval().requires_grad_(False)
    x = torch.rand(3, 224, 224, generator=torch.Generator().manual_seed(0))
    return [
        figure("imagenet_draw", ab.Saliency(model), bare_gradient, x),
        figure("imagenet_draw_gradcam", ab.GradCAM(model, "layer4"), bare_activations, x),
    ]
