"""What the moment rule adds to sampling: its seconds over all others of the same estimate (lower is better).

Wanted: at most 25 % on the small CNN with 8,192 draws, 2 % on ResNet-50 at ImageNet's size.
"""

import torch

import attribound as ab
from attribound.data import mnist_sample
from attribound.models import load_shipped, resnet50
from attribound.sampling import Source, default_statistics
from attribound.sampling.moments import FourthMoments
from attribound.training import fresh
from benchmarks.clocked import cost
from benchmarks.figure import Figure


def measure() -> list[Figure]:
    small = ab.Unit(ab.Saliency(load_shipped("mnist-cnn-consistency")))
    large = ab.Unit(ab.Saliency(fresh(resnet50, 0).eval().requires_grad_(False)))
    photo = torch.rand(3, 224, 224, generator=torch.Generator().manual_seed(0))
    digit = Source(small, mnist_sample()[0][0], 7, ab.Gaussian(0.75), classes=True)
    large_one = Source(large, photo, 7, ab.Gaussian(0.5), batch=8, classes=True)
    return [
        cost("moment_cost", digit, 8192, default_statistics(), (FourthMoments,)),
        cost("moment_cost_resnet50", large_one, 128, default_statistics(), (FourthMoments,)),
    ]
