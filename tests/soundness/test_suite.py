"""The soundness suite: thousands of (input, epsilon, noise, rule) cases, and not one below its certificate.

The same suite catches a wrong bound: the paper's formula fails it.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pytest
import torch

import attribound as ab
from attribound.attacks.score import rescore
from attribound.bounds import Evidence, cosine_bound_paper, moved_fraction
from tests.problems import AbsFirst


class Case(NamedTuple):
    """A shift, what is known before it, and the true cosine (or, for sampled maps, the most it can be) after it."""

    evidence: Evidence
    epsilon: float
    cosine: float


def region_cases(count: int, seed: int) -> Iterator[Case]:
    """Fields constant on what leaves, stays and arrives when a ball is shifted: everything is known exactly."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        dim, radius = int(rng.choice([2, 10, 784, 3072])), float(rng.uniform(0.5, 5))
        epsilon = radius * float(rng.uniform(0.01, 1.2)) / math.sqrt(dim)
        p = moved_fraction(epsilon, dim=dim, radius=radius)
        leaving, staying = (_vector(rng, rng.choice([1.0, rng.uniform(0, 1)])) for _ in range(2))
        # The worst arrival turns the map away as far as possible; random ones are tried too.
        arriving = -leaving if rng.random() < 0.5 else _vector(rng, 1.0)
        before, after = p * leaving + (1 - p) * staying, (1 - p) * staying + p * arriving
        spread = p * (1 - p) * float(((leaving - staying) ** 2).sum())
        evidence = Evidence(dim, "uniform", radius, 1.0, float(np.linalg.norm(before)), spread)
        yield Case(evidence, epsilon, _cosine(before, after))


def sign_cases(count: int, seed: int) -> Iterator[Case]:
    """The saliency of |y_1| under Gaussian noise: the map turns over as soon as the shift crosses zero."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        sigma, first = float(rng.uniform(0.1, 2)), float(rng.exponential(0.5))
        epsilon = first * float(rng.uniform(0.5, 3))
        norm = AbsFirst.smoothed_gaussian(first, sigma)
        evidence = Evidence(2, "gaussian", sigma, 1.0, norm, 1 - norm**2)
        yield Case(evidence, epsilon, 1.0 if epsilon < first else -1.0)


def _vector(rng: np.random.Generator, length: float) -> np.ndarray:
    angle = rng.uniform(0, 2 * math.pi)
    return length * np.array([math.cos(angle), math.sin(angle)])


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    norms = np.linalg.norm(a) * np.linalg.norm(b)
    return float(a @ b / norms) if norms > 1e-12 else 1.0


def violations(cases: list[Case], bound: Callable[[Evidence, float], dict[str, float]]) -> list[tuple[Case, str]]:
    """Every case and rule whose bound lies above the true cosine."""
    return [
        (case, rule)
        for case in cases
        for rule, value in bound(case.evidence, case.epsilon).items()
        if value > case.cosine + 1e-9
    ]


def ours(evidence: Evidence, epsilon: float) -> dict[str, float]:
    return evidence.cosines(epsilon)


def papers(evidence: Evidence, epsilon: float) -> dict[str, float]:
    return {"paper": cosine_bound_paper(evidence.norm_lower, evidence.limit, evidence.moved_fraction(epsilon))}


EXACT = [*region_cases(4000, seed=1), *sign_cases(500, seed=2)]


def test_no_exact_case_beats_a_rule() -> None:
    assert violations(EXACT, ours) == []
    useful = sum(max(ours(case.evidence, case.epsilon).values()) > 0.3 for case in EXACT)
    assert useful > 500, "most bounds must not be vacuous, or the suite proves nothing"


def test_the_suite_catches_the_papers_formula() -> None:
    caught = violations(EXACT, papers)
    assert len(caught) > 100
    assert max(papers(case.evidence, case.epsilon)["paper"] - case.cosine for case, _ in caught) > 0.5


def test_the_suite_catches_a_factor_two() -> None:
    """Half the moved fraction, half the spread: small mistakes must be seen as well."""

    def optimist(evidence: Evidence, epsilon: float) -> dict[str, float]:
        return evidence.cosines(epsilon / 2)

    assert len(violations(EXACT, optimist)) > 20


NOISES = [ab.UniformBall.from_sigma(0.5, 784), ab.Gaussian(0.5)]
ATTACKS = [("direct", 6), ("ifia", 6), ("likelihood", 4), ("random", 3)]


@pytest.mark.parametrize("noise", NOISES, ids=lambda n: n.kind)
def test_no_attack_on_real_images_beats_a_rule(noise, noise_model, sample) -> None:
    """6 images x 4 attacks x 2 budgets x 12 epsilons x 2 rules, for each noise."""
    field, cases, gaps = ab.Unit(ab.Saliency(noise_model)), [], []
    for item in range(6):
        certificate = ab.certify(field, sample[0][item], noise=noise, samples=2048, item=item)
        for method, steps in ATTACKS:
            for cosine in (0.5, 0.9):
                budget = certificate.max_epsilon(cosine)
                result = ab.attack(
                    field, sample[0][item], certificate.target, noise=noise, epsilon=budget, method=method,
                    steps=steps, samples=32, rescore_samples=1024,
                )  # fmt: skip
                length = float(result.delta.double().norm())
                gaps.append(result.cosine - certificate.cosine(length))
                # A change of some length is a case for every budget at least that long.
                cases += [
                    Case(certificate.evidence, e, result.score.cosine_most)
                    for e in np.linspace(length, 1.5 * budget, 12)
                ]
    assert len(cases) == 6 * 4 * 2 * 12
    assert violations(cases, ours) == []
    # Beyond what is rigorous: the estimates themselves stay above, up to their noise of about 0.01.
    assert min(gaps) > -0.02


def test_no_attack_on_the_standard_model_and_integrated_gradients(standard_model, sample) -> None:
    noise, cases = ab.Gaussian(0.25), []
    for base in (ab.Saliency(standard_model), ab.IntegratedGradients(standard_model, steps=4)):
        field = ab.Unit(base)
        for item in range(3):
            certificate = ab.certify(field, sample[0][item], noise=noise, samples=1024, item=item)
            budget = certificate.max_epsilon(0.6)
            delta = ab.attack(
                field, sample[0][item], certificate.target, noise=noise, epsilon=budget, method="direct", steps=5,
                samples=24, rescore_samples=64,
            ).delta  # fmt: skip
            score = rescore(field, sample[0][item], delta, certificate.target, noise, 1024, seed=9)
            cases += [
                Case(certificate.evidence, e, score.cosine_most)
                for e in np.linspace(float(delta.norm()), 2 * budget, 10)
            ]
    assert violations(cases, ours) == []


def test_a_false_certificate_on_a_real_attack_is_called_violated() -> None:
    """|y_1| crossing zero: a certificate that claims cosine 0.4 there is violated beyond Monte-Carlo error."""
    field, noise = ab.Unit(ab.Saliency(AbsFirst())), ab.Gaussian(0.5)
    x = torch.tensor([-0.2, 0.0], dtype=torch.float64)
    score = rescore(field, x, torch.tensor([0.4, 0.0], dtype=torch.float64), 0, noise, 4096, seed=0)
    certificate = ab.certify(field, x, 0, noise=noise, samples=4096)
    assert score.cosine_most < certificate.cosine_paper(0.4)
    assert score.cosine_most > certificate.cosine(0.4)
