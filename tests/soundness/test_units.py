"""Units change nothing but what is counted: every statement, attack and check, with units and without.

A law with units on x is the plain law on y = x / units for the field y -> g(units y). Units here are powers of two and
inputs float64, so both draw the same noisy inputs to the bit, and every number must agree. (`min_radius` and
`center_smoothing` know plain laws only.)
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from attribound import Proved, Saliency, Unit, certify
from attribound.attacks import Direct, Ifia, Likelihood, RandomDirections
from attribound.attacks.base import make_problem
from attribound.attacks.case import load_case, replay, save_case
from attribound.attacks.challenge import challenge
from attribound.baselines import pixel_votes
from attribound.bounds import LAWS
from attribound.bounds.budgets import Budget
from attribound.bounds.drift import cosine_interval
from attribound.certificates.certificate import Certificate
from attribound.certificates.verify import verify_record
from attribound.certification.reopen import Opened
from attribound.fields import Scaled
from attribound.fields.base import Explanation, Field
from attribound.noise import NoiseOf
from attribound.runs.gate import Asked, _case
from attribound.runs.proved import ProvedRecord
from attribound.sampling import Around
from tests.sampling.running import drawn
from tests.soundness.waves import Waves

UNITS = torch.tensor([2.0**-20, 0.25, 1.0, 8.0, 2.0**30], dtype=torch.float64)
POINT = torch.tensor([0.3, -0.8, 0.5, 0.1, 0.9], dtype=torch.float64)
"""The input, in units."""
EPSILONS, COSINES = (0.0, 0.01, 0.05, 0.2, 1.0), (0.0, 0.5, 0.8, 0.95)
ATTACKS = (
    Direct(steps=6, samples=64, rescore_samples=256),
    Ifia(steps=6, samples=64, rescore_samples=256, k=2),
    Likelihood(steps=6, samples=64, rescore_samples=256),
    RandomDirections(steps=6, samples=64, rescore_samples=256),
)


class Net(nn.Module):
    """A smooth network of features in units of their own."""

    def __init__(self, units: Tensor) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        draw = (torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in ((5, 16), (16, 3)))
        self.first, self.second = (nn.Parameter(weights) for weights in draw)
        self.units = units

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(x / self.units @ self.first) @ self.second


class InUnits(Field):
    """The same field as a function of x / units."""

    name, output = "in units", "logit"

    def __init__(self, base: Field, units: Tensor) -> None:
        self.base, self.units = base, units
        self.model = lambda y: base.model(y * units)

    def explain(self, inputs, target, *, generator=None, create_graph=False) -> Explanation:
        return self.base.explain(inputs * self.units, target, generator=generator, create_graph=create_graph)


FIELD = Scaled(Saliency(Net(UNITS)), UNITS)
"""A map of which every cell counts, whatever the units."""


def noises(kind: str, sigma: float = 0.4) -> tuple[NoiseOf, NoiseOf]:
    """The law with units, and the plain one."""
    law = LAWS[kind]
    value = law.value_of(sigma, len(UNITS))
    return NoiseOf(law, value, Budget(tuple(UNITS.tolist()))), NoiseOf(law, value)


def both(kind: str, **options: Any) -> tuple[Certificate, Certificate]:
    counted, plain = noises(kind)
    asked = {"samples": 1024, "seed": 3, "cells": (0.4,), "reasons": 3, **options}
    return (
        certify(Unit(FIELD), POINT * UNITS, 0, noise=counted, **asked),
        certify(Unit(InUnits(FIELD, UNITS)), POINT, 0, noise=plain, **asked),
    )


def answers(found: Certificate, per: float = 1.0) -> dict[str, Any]:
    """Every statement of a certificate, its epsilons counted in `per`."""
    said: dict[str, Any] = {"interval": found.interval(), "draws": found.draws}
    said |= {f"max {cosine}": found.max_epsilon(cosine) / per for cosine in COSINES}
    said |= {f"visible {cosine}": found.max_visible_epsilon(cosine) / per for cosine in COSINES}
    said |= {f"joint {cosine}": found.joint_epsilon(cosine) / per for cosine in COSINES}
    said |= {f"paper {cosine}": found.max_epsilon_paper(cosine) / per for cosine in COSINES[1:]}
    said |= {"class": found.prediction_radius / per, "cell radius": found.cell_radius(0.4) / per}
    said["sampled cell radius"] = found.cell_radius(0.4, samples=500) / per
    reasons = found.reasons()
    said |= {
        "reasons": reasons.features,
        "stays": np.array(reasons.stays) / per,
        "leads": np.array(reasons.leads) / per,
    }
    for epsilon in EPSILONS:
        at = epsilon * per
        said |= {f"{rule} at {epsilon}": cosine for rule, cosine in found.evidence.cosines(at).items()}
        said |= {
            f"{question.__name__} at {epsilon}": question(at)
            for question in (found.cosine, found.displacement, found.visible_cosine, found.signs, found.cosine_paper)
        }
        said |= {f"top-2 at {epsilon}": found.top_k(2, at), f"cells at {epsilon}": found.cells(0.4, at)}
    return said


def assert_same(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_allclose(
            np.asarray(first[name], np.float64), np.asarray(second[name], np.float64), rtol=1e-9, err_msg=name
        )


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("until", [None, (0.5, 0.02)], ids=["all draws", "early stop"])
def test_every_statement_is_that_of_the_same_field_in_units(kind, until) -> None:
    counted, plain = both(kind, until=until)
    assert_same(answers(counted), answers(plain))
    assert counted.max_epsilon(0.5) > 0
    assert counted.prediction_radius > 0
    assert (counted.cells(0.4, 0.01) != 0).any()


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("unit", [2.0**-10, 2.0**7])
def test_every_statement_is_that_of_the_law_stretched_by_a_common_unit(kind, unit) -> None:
    """Here the field is the same, gradient of a probability: the curvature rule too must give the same."""
    model = Waves(torch.tensor([0.9, 1.1, 1.3], dtype=torch.float64) / unit)
    field = Proved(Saliency(model, "probability", continuous=True), model.limit, reason="cosines are at most 1")
    value, x = LAWS[kind].value_of(1.0, 3), torch.tensor([0.2, -0.1, 0.4], dtype=torch.float64) * unit
    asked: dict[str, Any] = {"samples": 1024, "seed": 3, "cells": (0.4,), "reasons": 2}
    counted = certify(field, x, 0, noise=NoiseOf(LAWS[kind], value, Budget((unit,) * 3)), **asked)
    plain = certify(field, x, 0, noise=NoiseOf(LAWS[kind], value * unit), **asked)
    assert ("curvature" in counted.evidence.cosines(0.1)) is (kind == "gaussian")
    assert_same(answers(counted), answers(plain, per=unit))
    assert counted.max_epsilon(0.5) > 0


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_every_attack_finds_the_same_change_in_units(kind, attack) -> None:
    counted, plain = noises(kind)
    one = attack.run(make_problem(Around(Unit(FIELD), 0, POINT * UNITS), counted, 0.7, samples=256), seed=5)
    two = attack.run(make_problem(Around(Unit(InUnits(FIELD, UNITS)), 0, POINT), plain, 0.7, samples=256), seed=5)
    np.testing.assert_allclose((one.delta / UNITS).numpy(), two.delta.numpy(), rtol=1e-6, atol=1e-9)
    assert (one.length, one.cosine) == (pytest.approx(two.length), pytest.approx(two.cosine))
    assert 0 < one.length <= 0.7


def test_audits_and_replays_count_changes_in_units(tmp_path) -> None:
    certificate, plain = both("gaussian")
    field = Unit(FIELD)
    found = challenge(certificate, field, POINT * UNITS, [ATTACKS[0]], measure_tightness=False)
    assert found.finding.epsilon == pytest.approx(plain.max_epsilon(0.8))
    assert found.finding.length <= found.finding.epsilon
    save_case(tmp_path / "case.json", certificate, found.finding, found.worst)
    opened = Opened(field, POINT * UNITS, noises("gaussian")[0])
    again = replay(load_case(tmp_path / "case.json"), opened, samples=256)
    assert again.length == pytest.approx(found.worst.length, rel=1e-9)


@pytest.mark.parametrize("kind", LAWS)
def test_gate_drift_verify_and_baseline_give_the_same(kind) -> None:
    counted, plain = both(kind)
    for one in (counted, plain):
        assert verify_record(one).passed
    for epsilon in EPSILONS:
        cases = [
            _case(
                ProvedRecord(one.record, reached=one.cosine(epsilon)), Asked(cosine=0.8, epsilon=epsilon, share=0.9), {}
            )
            for one in (counted, plain)
        ]
        assert replace(cases[0], seconds=0.0) == replace(cases[1], seconds=0.0)
    moved = certify(Unit(FIELD), POINT * UNITS, 1, noise=noises(kind)[0], samples=1024, seed=4)
    intervals = [
        cosine_interval(
            one.attribution,
            moved.attribution,
            radii=(one.map_radius, moved.map_radius),
            lowers=(one.norm_lower, moved.norm_lower),
        )
        for one in (counted, plain)
    ]
    assert intervals[0] == intervals[1]
    sources = (
        drawn(Unit(FIELD), POINT * UNITS, 0, noises(kind)[0]),
        drawn(Unit(InUnits(FIELD, UNITS)), POINT, 0, noises(kind)[1]),
    )
    marks = [pixel_votes(*source, 0.4, samples=200) for source in sources]
    assert marks[0].radius == marks[1].radius
    assert (marks[0].marks == marks[1].marks).all()
    assert marks[0].certified > 0
