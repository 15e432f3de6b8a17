"""Seconds per draw on ResNet-50 at ImageNet's size: certify against bare gradients; the docs project from it."""

import torch

import attribound as ab
from attribound.models import resnet50
from attribound.training import fresh
from benchmarks.figure import Figure, race

DRAWS, BATCH = 32, 8


def bare(model: torch.nn.Module, x: torch.Tensor) -> None:
    for _ in range(DRAWS // BATCH):
        points = (x + 0.25 * torch.randn(BATCH, *x.shape)).requires_grad_(True)
        torch.autograd.grad(model(points)[:, 0].sum(), points)


def measure() -> list[Figure]:
    model = fresh(resnet50, 0).eval().requires_grad_(False)
    x = torch.rand(3, 224, 224, generator=torch.Generator().manual_seed(0))
    field = ab.Unit(ab.Saliency(model))
    ours, peer, ratio = race(
        lambda: ab.certify(field, x, target=0, noise=ab.Gaussian(0.25), samples=DRAWS, batch=BATCH),
        lambda: bare(model, x),
        rounds=3,
    )
    return [Figure("imagenet_draw", ours / DRAWS, peer / DRAWS, ratio, "s")]
