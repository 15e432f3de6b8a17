"""The soundness suite: thousands of (input, epsilon, noise, rule) cases, and not one below its certificate.

The same suite catches a wrong bound: the paper's formula fails it. `make soundness` runs many times as many cases.
"""

import os
from collections.abc import Callable

import numpy as np
import pytest
import torch

from attribound.attacks import attack
from attribound.attacks.score import rescore
from attribound.bounds import Evidence, cosine_bound_paper
from attribound.certification.certifier import certify
from attribound.fields import Centred, Clip, IntegratedGradients, Pooled, Saliency, Unit
from attribound.noise import Gaussian, UniformBall
from attribound.sampling import Around
from tests.problems import AbsFirst
from tests.soundness.exact_cases import Case, gradient_cases, region_cases, sign_cases, step_cases

SCALE = int(os.environ.get("ATTRIBOUND_SOUNDNESS", "1"))
"""How many times as many exact cases."""


def violations(cases: list[Case], bound: Callable[[Evidence, float], dict[str, float]]) -> list[tuple[Case, str]]:
    """Every case and rule whose bound lies above the true cosine."""
    return [
        (case, rule)
        for case in cases
        for rule, value in bound(case.evidence, case.epsilon).items()
        if value > case.cosine + 1e-9
    ]


def ours(evidence: Evidence, epsilon: float) -> dict[str, float]:
    return {rule: float(value) for rule, value in evidence.cosines(epsilon).items()}


def papers(evidence: Evidence, epsilon: float) -> dict[str, float]:
    moved = evidence.moved_fraction(epsilon)
    return {"paper": float(cosine_bound_paper(evidence.norm_lower, evidence.limit, moved))}


@pytest.fixture(scope="module")
def exact() -> list[Case]:
    return [
        *region_cases(4000 * SCALE, seed=1),
        *sign_cases(500 * SCALE, seed=2),
        *step_cases(500 * SCALE, seed=3),
        *gradient_cases(500 * SCALE, seed=4),
    ]


def test_no_exact_case_beats_a_rule(exact) -> None:
    useful: list[str] = []

    def noting(evidence: Evidence, epsilon: float) -> dict[str, float]:
        answers = ours(evidence, epsilon)
        useful.extend(rule for rule, value in answers.items() if value > 0.3)
        return answers

    assert violations(exact, noting) == []
    assert len(exact) >= 5000 * SCALE
    counts = {rule: useful.count(rule) for rule in set(useful)}
    assert min(counts[rule] for rule in ("tight", "covariance", "curvature")) > 100, "vacuous bounds prove nothing"


def test_no_exact_case_moves_further_than_certified(exact) -> None:
    for case in exact:
        assert case.displacement <= float(case.evidence.displacement(case.epsilon)) * (1 + 1e-9) + 1e-12


def test_the_suite_catches_the_papers_formula(exact) -> None:
    caught = violations(exact, papers)
    assert len(caught) > 100
    assert max(papers(case.evidence, case.epsilon)["paper"] - case.cosine for case, _ in caught) > 0.5


def test_the_suite_catches_a_factor_two(exact) -> None:
    """Half the moved fraction, half the spread: small mistakes must be seen as well."""

    def optimist(evidence: Evidence, epsilon: float) -> dict[str, float]:
        return ours(evidence, epsilon / 2)

    assert len(violations(exact, optimist)) > 20


NOISES = [UniformBall.from_sigma(0.5, 784), Gaussian(0.5)]
IMAGES = 3 + SCALE
ATTACKS = [("direct", 6), ("ifia", 6), ("likelihood", 4), ("random", 3)]


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_no_attack_on_real_images_beats_a_rule(noise, noise_model, sample) -> None:
    """4 images (more on request) x 4 attacks x 2 budgets x 12 epsilons x 2 rules, for each noise."""
    field, cases, gaps = Unit(Saliency(noise_model)), [], []
    for item in range(IMAGES):
        certificate = certify(field, sample[0][item], noise=noise, samples=2048, item=item, seed=0)
        for method, steps in ATTACKS:
            for cosine in (0.5, 0.9):
                budget = certificate.max_epsilon(cosine)
                result = attack(
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
    assert len(cases) == IMAGES * 4 * 2 * 12
    assert violations(cases, ours) == []
    # Beyond what is rigorous: the estimates themselves stay above, up to their noise of about 0.01.
    assert min(gaps) > -0.02


FIELDS = {
    "saliency": lambda model: Unit(Saliency(model)),
    "ig": lambda model: Unit(IntegratedGradients(model, steps=4)),
    "probability": lambda model: Unit(Saliency(model, output="probability")),
    "clip": lambda model: Clip(Saliency(model), 20.0),
    "pooled": lambda model: Unit(Centred(Pooled(Saliency(model), size=7))),
    "pooled-signed": lambda model: Unit(Pooled(Saliency(model), size=7, of="signed")),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FIELDS)
def test_no_attack_on_the_standard_model_beats_any_field(name, standard_model, sample) -> None:
    noise, cases, field = Gaussian(0.25), [], FIELDS[name](standard_model)
    for item in range(1 + SCALE):
        certificate = certify(field, sample[0][item], noise=noise, samples=1024, item=item, seed=0)
        budget = certificate.max_epsilon(0.6) or 0.1
        delta = attack(
            field, sample[0][item], certificate.target, noise=noise, epsilon=budget, method="direct", steps=5,
            samples=24, rescore_samples=64,
        ).delta  # fmt: skip
        family = Around(field, certificate.target, sample[0][item])
        score = rescore(family, family.at(delta), noise, 1024, seed=9)
        cases += [
            Case(certificate.evidence, e, score.cosine_most) for e in np.linspace(float(delta.norm()), 2 * budget, 10)
        ]
    assert len(cases) == 10 * (1 + SCALE)
    assert violations(cases, ours) == []


def test_a_false_certificate_on_a_real_attack_is_called_violated() -> None:
    """|y_1| crossing zero: a certificate that claims cosine 0.4 there is violated beyond Monte-Carlo error."""
    field, noise = Unit(Saliency(AbsFirst())), Gaussian(0.5)
    x = torch.tensor([-0.2, 0.0], dtype=torch.float64)
    family = Around(field, 0, x)
    score = rescore(family, family.at(torch.tensor([0.4, 0.0])), noise, 4096, seed=0)
    certificate = certify(field, x, 0, noise=noise, samples=4096)
    assert score.cosine_most < certificate.cosine_paper(0.4)
    assert score.cosine_most > certificate.cosine(0.4)
