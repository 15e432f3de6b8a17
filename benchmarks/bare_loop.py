"""Input gradients per second of `estimate` against a bare forward+backward loop, same model and batch size.

Wanted: 0.88. Where the time of an estimate goes (profiles with one thread on two processors; the one on which the draws
are quicker comes second): the draws themselves 77 and 69 %, fourth moments 13 and 18 % (half of it and more Cholesky
factors of 512 x 512, which prove eigenvalues from above, in float64), the spread 3 and 5 %, the rows exchanged at the
end 3 %, making noise 2 %, scaling to length 1 and the norm's bets 2 %. Fewer or smaller factors give weaker moments,
and so other certificates.
"""

import torch

import attribound as ab
from attribound.certificates.statements import registry
from attribound.certification.method import estimate
from attribound.data import mnist_sample
from attribound.models import load_shipped
from attribound.sampling import Around, AtPoint, Plan
from benchmarks.figure import Figure, race

SAMPLES, BATCH = 8192, 256


def measure() -> list[Figure]:
    model, x = load_shipped("mnist-cnn-noise"), mnist_sample()[0][0]
    field, noise = ab.Unit(ab.Saliency(model)), ab.Gaussian(0.5)
    noisy = x + 0.5 * torch.randn(BATCH, *x.shape, generator=torch.Generator().manual_seed(0))

    def bare() -> None:
        for _ in range(SAMPLES // BATCH):
            points = noisy.detach().requires_grad_(True)
            torch.autograd.grad(model(points)[:, 7].sum(), points)

    def certified() -> None:
        family, design = Around(field, 7, x), AtPoint(noise, batch=BATCH)
        estimate(family, design, Plan(SAMPLES, 1e-3), x.shape, registry.statistics())

    ours, peer, ratio = race(certified, bare, rounds=5)
    return [Figure("bare_loop", SAMPLES / ours, SAMPLES / peer, ratio, "gradients/s")]
