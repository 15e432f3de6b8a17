"""The class beside the map: chosen on the pilot, never tested on it, covered as promised, true in closed form."""

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

from attribound.bounds import Majority
from attribound.certificates.statements.prediction import class_under_noise
from attribound.certification.certifier import certify
from attribound.fields import Saliency, Unit
from attribound.fields.captum import Captum
from attribound.noise import Gaussian, UniformBall
from attribound.sampling import Draws, Setting
from attribound.sampling.prediction import ClassCount
from tests.problems import AbsFirst, Linear


def majority_of(pilot, *chunks, alpha=0.1) -> Majority | None:
    statistic = ClassCount(1 / 16)
    maps = torch.zeros(1, 2, dtype=torch.float64)
    statistic.start(Draws(maps, pilot), Setting(2, 1.0, 100, Gaussian(0.5).law(2)))
    for chunk in chunks:
        statistic.add(Draws(maps, chunk))
    return statistic.prove(alpha, {})


def test_the_pilot_chooses_and_is_not_counted() -> None:
    fact = majority_of(torch.tensor([3, 3, 1]), torch.tensor([1, 3, 1]), torch.tensor([3, 1]))
    assert fact == Majority(3.0, 2.0, 5.0, 0.1)


@pytest.mark.parametrize("chunks", [[None, None], [torch.tensor([1])]], ids=["no classes", "pilot only"])
def test_without_classes_nothing_is_said(chunks) -> None:
    assert majority_of(*chunks) is None


def failures(optimism: float, runs: int = 1000) -> int:
    """Runs in which the bound on a class of known probability 0.8 exceeds it, at alpha 0.1."""
    generator = torch.Generator().manual_seed(4)
    failed = 0
    for _ in range(runs):
        classes = (torch.rand(232, generator=generator) > 0.8).long()
        fact = majority_of(classes[:32], classes[32:])
        assert fact is not None
        failed += float(fact.lower) * optimism > 0.8
    return failed


def test_coverage() -> None:
    """P(Bin(1000, 0.1) > 148) < 1e-6; a bound ten percent too optimistic would fail in most runs."""
    assert 40 < failures(1.0) <= 148
    assert failures(1.1) > 500


@pytest.mark.parametrize("noise", [Gaussian(0.5), UniformBall(1.0)], ids=["gaussian", "uniform"])
def test_a_linear_classifier_has_a_known_radius(noise) -> None:
    """Its classes meet on a plane at distance 0.4: no radius beyond that is true, and a good part of it is proved."""
    weights = torch.tensor([0.6, 0.8, 0.0], dtype=torch.float64)
    x = 0.4 * weights
    certificate = certify(Unit(Saliency(Linear(weights))), x, noise=noise, samples=4000, seed=1)
    assert certificate.smoothed_prediction == certificate.prediction == 0
    assert 0.15 < certificate.prediction_radius <= 0.4
    assert certificate.joint_epsilon(0.8) == min(certificate.prediction_radius, certificate.max_epsilon(0.8)) > 0


def test_even_classes_abstain() -> None:
    weights = torch.tensor([0.6, 0.8], dtype=torch.float64)
    certificate = certify(
        Unit(Saliency(Linear(weights))), torch.zeros(2, dtype=torch.float64), 0, noise=Gaussian(1.0), samples=1000
    )
    assert (certificate.smoothed_prediction, certificate.prediction_radius, certificate.joint_epsilon(0.5)) == (
        None,
        0,
        0,
    )
    assert certificate.max_epsilon(0.5) > 0
    assert "abstains: no class is proved" in class_under_noise(certificate)
    assert certificate.record.joint_epsilon == {"0.8": 0.0, "0.9": 0.0}


class Spike(nn.Module):
    """Class 1 only within 0.1 of the origin: noise hides it."""

    def forward(self, y):
        near = (y.norm(dim=1) < 0.1).to(y) * 20
        return torch.stack([y[:, 0] * 0 + 5, near + y[:, 0]], dim=1)


def test_a_class_that_noise_hides_is_said() -> None:
    x = torch.full((3,), 0.01, dtype=torch.float64)
    certificate = certify(Unit(Saliency(Spike())), x, noise=Gaussian(0.5), samples=500)
    assert (certificate.prediction, certificate.smoothed_prediction, certificate.target) == (1, 0, 1)
    text = class_under_noise(certificate)
    assert "without noise the model says 1" in text
    assert "the map explains class 1" in text
    assert text in certificate._repr_html_()


def test_methods_that_keep_their_logits_to_themselves_have_classes_too() -> None:
    import captum.attr

    model = AbsFirst()
    x = torch.tensor([1.0, 0.2], dtype=torch.float64)
    certificate = certify(Unit(Captum(captum.attr.InputXGradient(model))), x, 0, noise=Gaussian(0.5), samples=600)
    direct = certify(Unit(Saliency(model)), x, 0, noise=Gaussian(0.5), samples=600)
    assert certificate.evidence.fact(Majority) == direct.evidence.fact(Majority)
    assert certificate.prediction_radius > 0.3


def test_classes_of_blocks_are_those_of_single_inputs(noise_model, sample) -> None:
    from attribound.fields import IntegratedGradients

    field = Unit(IntegratedGradients(noise_model, steps=4, path="random"))
    certificate = certify(field, sample[0][0], noise=Gaussian(0.5), samples=512)
    majority = certificate.evidence.fact(Majority)
    assert certificate.draws == 128 < float(majority.tested) < 512
    assert certificate.prediction_radius > 0.5


def test_the_radius_is_that_of_the_counts() -> None:
    fact = Majority(0.0, 180.0, 200.0, 0.1)
    lower = stats.beta.ppf(0.1, 180, 21)
    assert float(fact.radius(Gaussian(2.0).law(5))) == pytest.approx(2 * stats.norm.ppf(lower), rel=1e-8)
    assert np.shape(fact.lower) == ()
