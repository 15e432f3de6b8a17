"""What the moment rule adds to sampling: its seconds over all others of the same estimate (lower is better).

Wanted: at most 25 % on the small CNN with 8,192 draws, 2 % on ResNet-50 at ImageNet's size.
"""

import torch

import attribound as ab
from attribound.certificates.statements import registry
from attribound.data import mnist_sample
from attribound.models import load_shipped, resnet50
from attribound.sampling import Around, AtPoint
from attribound.sampling.moments import FourthMoments
from attribound.training import fresh
from benchmarks.clocked import cost
from benchmarks.figure import Figure

SMALL, LARGE = 8192, 128
"""Draws on the small CNN and on ResNet-50."""


def measure() -> list[Figure]:
    small = ab.Unit(ab.Saliency(load_shipped("mnist-cnn-consistency")))
    large = ab.Unit(ab.Saliency(fresh(resnet50, 0).eval().requires_grad_(False)))
    photo = torch.rand(3, 224, 224, generator=torch.Generator().manual_seed(0))
    cases = {
        "moment_cost": (Around(small, 7, mnist_sample()[0][0]), AtPoint(ab.Gaussian(0.75), classes=True), SMALL),
        "moment_cost_resnet50": (Around(large, 7, photo), AtPoint(ab.Gaussian(0.5), batch=8, classes=True), LARGE),
    }
    return [
        cost(name, family, design, draws=draws, statistics=registry.statistics(), kinds=(FourthMoments,))
        for name, (family, design, draws) in cases.items()
    ]
