"""One iteration of the direct attack against a bare double-backward over the same draws (ratio >= 1 / 1.3 wanted)."""

import torch
from torch.nn import functional

import attribound as ab
from attribound.attacks import Direct
from attribound.attacks.base import make_problem
from attribound.data import mnist_sample
from attribound.fields.families import Around
from attribound.models import load_shipped
from benchmarks.figure import Figure, race

DRAWS, STEPS = 300, 5


def bare_step(layers: torch.nn.Sequential, noisy: torch.Tensor, reference: torch.Tensor) -> None:
    """Forward through smooth activations, gradient with graph, cosine, backward: what any such attack must do."""
    points = noisy.detach().requires_grad_(True)
    values = points
    for layer in layers:
        values = functional.softplus(values, beta=20.0) if isinstance(layer, torch.nn.ReLU) else layer(values)
    maps = torch.autograd.grad(values[:, 7].sum(), points, create_graph=True)[0].flatten(1)
    mean = functional.normalize(maps, dim=1).mean(dim=0)
    torch.autograd.grad(1 - functional.cosine_similarity(mean, reference, dim=0), points)


def measure() -> list[Figure]:
    model, x = load_shipped("mnist-cnn-noise"), mnist_sample()[0][0]
    problem = make_problem(Around(ab.Unit(ab.Saliency(model)), 7, x), ab.Gaussian(0.5), 1.0, samples=512)
    attack = Direct(steps=STEPS, samples=DRAWS, rescore_samples=1)
    noisy = x + 0.5 * torch.randn(DRAWS, *x.shape, generator=torch.Generator().manual_seed(0))
    reference = problem.reference.float()

    def bare() -> None:
        for _ in range(STEPS):
            bare_step(model.layers, noisy, reference)

    ours, peer, ratio = race(lambda: attack.run(problem), bare, rounds=5)
    return [Figure("attack_step", ours / STEPS, peer / STEPS, ratio, "s")]
