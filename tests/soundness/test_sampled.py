"""Certificates from real draws, every statistic on, against maps whose averages are known, and attacks on more fields.

`make soundness` runs ten times as many. A moment rule that is too bold is caught.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pytest

import attribound as ab
from attribound.attacks.score import rescore
from attribound.bounds import Evidence
from attribound.bounds.rules.moment import MomentBounds
from attribound.sampling import Around
from tests.soundness.profiles import Cases, sampled_profiles

SIZE = int(os.environ.get("ATTRIBOUND_SOUNDNESS", "1"))
"""How many times as many cases."""
_SAMPLED = 0.01
"""What quadrature and the grid of shifts may hide in a case's true cosine."""

Bound = Callable[[Evidence, np.ndarray], dict[str, np.ndarray]]


def ours(evidence: Evidence, epsilon: np.ndarray) -> dict[str, np.ndarray]:
    return evidence.cosines(epsilon)


def judge(batches: Iterable[Cases], bound: Bound, slack: float) -> tuple[dict[str, int], dict[str, int], int]:
    """Per rule: violations and useful statements; and how many (case, rule) pairs were judged."""
    broken: dict[str, int] = {}
    useful: dict[str, int] = {}
    total = 0
    for cases in batches:
        for rule, values in bound(cases.evidence, cases.epsilon).items():
            stated = np.broadcast_to(values, cases.epsilon.shape).ravel()
            broken[rule] = broken.get(rule, 0) + int((stated > cases.truth + slack).sum())
            useful[rule] = useful.get(rule, 0) + int((stated > 0.3).sum())
            total += stated.size
    return broken, useful, total


@pytest.fixture(scope="module")
def sampled() -> list[Cases]:
    return list(sampled_profiles(30 * SIZE, seed=3))


def test_no_sampled_certificate_is_beaten_by_any_shift(sampled) -> None:
    """Every rule with facts from real draws, at 80 shifts each."""
    broken, useful, total = judge(sampled, ours, _SAMPLED)
    assert not any(broken.values()), broken
    assert total >= 30 * SIZE * 80 * 3
    assert useful["moment"] > 300 * SIZE


def test_the_suite_catches_a_moment_rule_that_is_too_bold(sampled) -> None:
    """Reaching 1.6 times as far is seen on rare events and steps."""

    def bold(evidence: Evidence, epsilon: np.ndarray) -> dict[str, np.ndarray]:
        moments = evidence.facts.get(MomentBounds)
        if not isinstance(moments, MomentBounds):
            return {"moment": np.full(epsilon.shape, -1.0)}
        facts = {**evidence.facts, MomentBounds: replace(moments, shift=1.6 * moments.shift)}
        return {"moment": Evidence(evidence.law, evidence.limit, facts).cosines(epsilon)["moment"]}

    assert judge(sampled, bold, _SAMPLED)[0]["moment"] > 0


FIELDS = {
    "ig random": lambda model: ab.Unit(ab.IntegratedGradients(model, steps=4, path="random")),
    "grouped": lambda model: ab.Unit(ab.Grouped(ab.Saliency(model), [k // 112 for k in range(784)])),
    "gradcam": lambda model: ab.Unit(ab.GradCAM(model, "layers.2")),
}
NOISES = {"uniform": ab.UniformBall.from_sigma(0.5, 784), "gaussian": ab.Gaussian(0.5)}
SCALES = np.array([0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0])


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", FIELDS)
def test_no_attack_on_real_images_beats_a_rule(name, noise, noise_model, sample) -> None:
    """A direct attack, its change at eight lengths, against every rule at that length."""
    field, law, checked = FIELDS[name](noise_model), NOISES[noise], 0
    for item in range(2 * SIZE - 1):
        x = sample[0][item]
        certificate = ab.certify(field, x, noise=law, samples=512, seed=0, item=item)
        budget = max(certificate.max_epsilon(0.8), 0.1)
        attack = ab.attack(
            field, x, noise=law, epsilon=budget, method="direct", steps=3, samples=16, rescore_samples=16
        )
        family, kept = Around(field, certificate.target, x), {}
        for scale in SCALES:
            score = rescore(family, family.at(attack.delta * scale), law, 256, seed=item, kept=kept)
            epsilon = np.asarray(float((attack.delta * scale).norm()) * (1 + 1e-6))
            for rule, cosine in certificate.evidence.cosines(epsilon).items():
                assert float(cosine) <= score.cosine_most, (rule, scale)
                checked += 1
    assert checked >= (2 * SIZE - 1) * len(SCALES) * 2
