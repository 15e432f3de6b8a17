"""The smoothed integrated-gradients map against Captum's NoiseTunnel, at equal standard error."""

import captum.attr
import torch

import attribound as ab
from attribound.certificates.statements import registry
from attribound.certification.method import estimate
from attribound.data import mnist_sample
from attribound.fields.families import noisy
from attribound.models import load_shipped
from attribound.sampling import Around, AtPoint, Plan
from benchmarks.figure import Figure, race

SIGMA, STEPS, TUNNEL_DRAWS, DRAWS = 0.5, 50, 32, 4096


def variance_per_draw(field: ab.IntegratedGradients, x: torch.Tensor, draws: int) -> float:
    """Total variance of one draw (a block's mean for a random path)."""
    generator = torch.Generator().manual_seed(1)
    parts = []
    for _ in range(draws // 64):
        points = noisy(x, ab.Gaussian(SIGMA), 64 * field.block, generator)
        values = field.attribute(points, 7, generator=generator).flatten(1)
        parts.append(values.view(64, field.block, -1).mean(dim=1))
    return float(torch.cat(parts).var(dim=0).sum())


def measure() -> list[Figure]:
    model, x = load_shipped("mnist-cnn-noise"), mnist_sample()[0][0]
    tunnel = captum.attr.NoiseTunnel(captum.attr.IntegratedGradients(model))
    random = ab.IntegratedGradients(model, steps=8, path="random")
    plan = Plan(DRAWS, 1e-3)

    def theirs() -> None:
        tunnel.attribute(x[None], nt_type="smoothgrad", nt_samples=TUNNEL_DRAWS, stdevs=SIGMA, n_steps=STEPS, target=7)

    def ours() -> None:
        family = Around(ab.Assumed(random, 1e6), 7, x)
        estimate(family, AtPoint(ab.Gaussian(SIGMA)), plan, x.shape, registry.statistics())

    ours_seconds, their_seconds, _ = race(ours, theirs, rounds=5)
    # Standard error^2 = variance of a draw / draws, so seconds for a wanted one = seconds per draw * variance.
    ours_cost = ours_seconds / (DRAWS / random.block) * variance_per_draw(random, x, 512)
    quadrature = ab.IntegratedGradients(model, steps=STEPS)
    their_cost = their_seconds / TUNNEL_DRAWS * variance_per_draw(quadrature, x, 128)
    return [Figure("captum_noise_tunnel", ours_cost, their_cost, their_cost / ours_cost, "s x variance per draw")]
