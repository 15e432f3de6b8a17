"""Orders: counted as by a loop, covered as promised, and no order is ever broken within its radius."""

import numpy as np
import pytest
import torch
from scipy import special

from attribound.bounds import Normal, Orders, order_radii
from attribound.certification.certifier import certify
from attribound.errors import ArgumentError
from attribound.fields import IntegratedGradients, Saliency, Unit
from attribound.fields.families import noisy
from attribound.noise import Gaussian, UniformBall
from attribound.sampling import Draws, Setting
from attribound.sampling.orders import PairOrders
from tests.problems import HalfSpaces

LAW = Normal(2, 1.0)


def proved(chunks, k=2, alpha=1e-3, law=LAW) -> Orders:
    statistic = PairOrders(k, share=1.0)
    statistic.start(Draws(chunks[0]), Setting(chunks[0].shape[1], 1.0, sum(map(len, chunks)), law))
    for chunk in chunks[1:]:
        statistic.add(Draws(chunk))
    return statistic.prove(alpha, {})


def test_thresholds_follow_from_the_pilot_and_only_later_draws_are_counted() -> None:
    generator = torch.Generator().manual_seed(0)
    centre = torch.tensor([0.0, 0.7, 0.3, -0.2], dtype=torch.float64)
    chunks = [centre + 0.1 * torch.randn(rows, 4, dtype=torch.float64, generator=generator) for rows in (40, 50, 30)]
    found = proved(chunks)
    assert found.places == [1, 2]
    pilot, later = chunks[0].numpy(), torch.cat(chunks[1:]).numpy()
    for row, feature in enumerate(found.places):
        for other in set(range(4)) - {feature}:
            gaps = pilot[:, feature] - pilot[:, other]
            start, step = max(gaps.mean() - 6 * gaps.std(), -np.sqrt(2)), gaps.std() / 20
            counts = [
                sum(draw[feature] - draw[other] >= start + step * t - 1e-12 for draw in later) for t in range(200)
            ]
            radius = order_radii(
                np.array(start),
                np.array(step),
                np.array(counts, float),
                tested=80,
                limit=1.0,
                level=1e-3 / 1600,
                law=LAW,
            )
            assert found.radius[row, other] == pytest.approx(float(radius), abs=1e-9)
    assert (found.radius[0] > 0).tolist() == [True, False, True, True], "nothing is above itself"


def test_constant_draws_prove_as_much_as_any_event() -> None:
    chunks = [torch.tensor([[0.7, 0.1, 0.0]], dtype=torch.float64).expand(200, 3)] * 3
    found = proved(chunks, k=1)
    assert 0.3 * found.most(400, LAW) < found.radius[0, 1] < found.radius[0, 2] < found.most(400, LAW)


# --- coverage with a known truth -----------------------------------------------------------------------------

RUNS, LIKELY = 300, 0.95
ROOT = 0.5**0.5
TRUTH = special.ndtri(LIKELY) - special.ndtri(2 * ROOT / (2 * ROOT + 0.3))
"""Differences of 0.3 with probability 0.95, else of the least that there is: a half-space that evens out there."""


def failures(alpha: float) -> int:
    """Runs in which the radius exceeds the shift that makes the mean difference zero."""
    generator, failed = torch.Generator().manual_seed(1), 0
    usual, rare = torch.tensor([[0.5, 0.2], [-ROOT, ROOT]], dtype=torch.float64)
    for _ in range(RUNS):
        likely = torch.rand(330, 1, generator=generator, dtype=torch.float64) < LIKELY
        maps = torch.where(likely, usual, rare)
        failed += bool(proved([maps[:30], maps[30:]], k=1, alpha=alpha).radius[0, 1] > TRUTH)
    return failed


def test_radii_are_covered() -> None:
    """One pair, one proportion that matters, at level 0.4 / 400: P(Bin(300, 0.001) > 5) < 1e-6."""
    assert failures(0.4) <= 5


def test_levels_that_are_not_shared_would_be_noticed() -> None:
    """Each threshold at level 0.4, all of alpha at each of them, fails in far more runs."""
    assert failures(0.4 * 400 * 0.999) > 60


# --- no order is broken --------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [Gaussian(0.5), UniformBall(2.0)], ids=["gaussian", "uniform"])
def test_no_radius_reaches_a_known_tie(noise) -> None:
    """The two cells of a pair tie just at its threshold; each certificate is false with probability 1e-4 / 32."""
    near = count = 0
    for seed in range(3):
        field = HalfSpaces.random(10, 8, 1.5 * noise.law(8).sigma, seed)
        x = torch.zeros(8, dtype=torch.float64)
        found = certify(Unit(field), x, 0, noise=noise, samples=2000, alpha=1e-4, reasons=6, seed=seed)
        orders = found.evidence.fact(Orders)
        for row, cell in enumerate(orders.places):
            tie = float(field.thresholds[cell // 2])
            assert orders.radius[row, cell ^ 1] <= tie
            near += orders.radius[row, cell ^ 1] > (0.5 * tie if isinstance(noise, Gaussian) else 0.0)
            count += 1
    # Gaussian half-spaces are the worst case, so radii come near the ties; what enters a ball may be anything.
    assert near > 0.8 * count


def net() -> torch.nn.Module:
    generator = torch.Generator().manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2)).double().eval()
    for value in model.parameters():
        value.data = torch.randn(value.shape, generator=generator, dtype=torch.float64) / value.shape[-1] ** 0.3
        value.requires_grad_(False)
    return model


def attacked(field, x, target, pair, epsilon, noise) -> torch.Tensor:
    """The change of that length that makes one feature lose most to another: gradient steps with fixed noise."""
    draws = noise.draw(400, x, torch.Generator().manual_seed(5))
    delta = torch.zeros_like(x)
    for _ in range(25):
        delta.requires_grad_(True)
        maps = field.attribute(x + delta + draws, target, create_graph=True)
        (slope,) = torch.autograd.grad((maps[:, pair[0]] - maps[:, pair[1]]).mean(), delta)
        step = delta.detach() - 0.3 * epsilon * slope / slope.norm().clamp(min=1e-12)
        delta = step * (epsilon / step.norm().clamp(min=epsilon))
    return delta.detach()


def test_attacks_break_no_order() -> None:
    """Every proved order of two inputs, attacked at its own radius; fresh noise, five standard errors."""
    field, noise, tried = Unit(Saliency(net())), Gaussian(0.4), 0
    for seed in range(2):
        x = torch.randn(6, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        found = certify(field, x, 0, noise=noise, samples=4096, reasons=3, seed=seed)
        orders = found.evidence.fact(Orders)
        for row, feature in enumerate(orders.places):
            for other in np.flatnonzero(orders.radius[row] > 0.02).tolist():
                epsilon = float(orders.radius[row, other])
                point = x + attacked(field, x, 0, (feature, other), epsilon, noise)
                maps = field.attribute(noisy(point, noise, 4000, torch.Generator().manual_seed(9)), 0)
                gaps = maps[:, feature] - maps[:, other]
                assert float(gaps.mean()) > -5 * float(gaps.std()) / 4000**0.5
                tried += 1
    assert tried >= 12


def test_maps_and_fields_that_do_not_fit_are_refused() -> None:
    model = net()
    x = torch.zeros(6, dtype=torch.float64)
    with pytest.raises(ArgumentError, match="expected fewer than 6 reasons of a map of 6 cells, got 6"):
        certify(Unit(Saliency(model)), x, noise=Gaussian(0.5), samples=64, reasons=6)
    with pytest.raises(ArgumentError, match="expected no `reasons` for ig-random on a random path"):
        certify(Unit(IntegratedGradients(model, steps=4, path="random")), x, noise=Gaussian(0.5), reasons=2)
    with pytest.raises(ArgumentError, match="expected `reasons` to be a whole number >= 0, got -1"):
        certify(Unit(Saliency(model)), x, noise=Gaussian(0.5), reasons=-1)
