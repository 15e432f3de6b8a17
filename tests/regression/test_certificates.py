"""The same draws give the same certificates as version 0.1.0, to nine digits.

`certificates-0.1.json` holds fifty certificates that version 0.1.0 made, over both laws, eight fields, three shipped
models and one map too large for an exact covariance. The statistics, their shares of alpha and the parts that the draws
come in are those of 0.1, so that statistics added later change nothing here.
"""

import json
from pathlib import Path

import captum.attr
import pytest
import torch
from torch import nn

from attribound.bounds import Closeness, Evidence, Length, top_k_overlap
from attribound.bounds.visible import visible_cosine
from attribound.data import mnist_sample
from attribound.fields import Assumed, Bounded, Clip, IntegratedGradients, Proved, Saliency, Unit
from attribound.fields.captum import Captum
from attribound.models import load_shipped
from attribound.noise import parse_noise
from attribound.sampling import Estimate
from tests.sampling.running import asking, basic_statistics, estimate_of

ROWS = json.loads((Path(__file__).parent / "certificates-0.1.json").read_text())["rows"]
QUICK = {0, 1, 3, 5, 7, 8, 10, 11, 13, 14, 15, 48}
FIELDS = {
    "unit-saliency": lambda model: Unit(Saliency(model)),
    "clip-saliency": lambda model: Clip(Saliency(model), 1.5),
    "assumed-saliency": lambda model: Assumed(Saliency(model), 50.0),
    "unit-ig": lambda model: Unit(IntegratedGradients(model, steps=4)),
    "unit-ig-random": lambda model: Unit(IntegratedGradients(model, steps=4, path="random")),
    "unit-probability": lambda model: Unit(Saliency(model, output="probability")),
    "proved-curvature": lambda model: Proved(
        Saliency(model, output="probability", continuous=True), 5.0, reason="test"
    ),
    "captum-input-x-gradient": lambda model: Unit(Captum(captum.attr.InputXGradient(model))),
}


def sketched() -> tuple[nn.Module, torch.Tensor]:
    """A model of 6,000 features, more than an exact covariance is kept for."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(6000, 8), nn.Tanh(), nn.Linear(8, 3))
    generator = torch.Generator().manual_seed(5)
    for parameter in model.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator) / 40
    return model.eval().requires_grad_(False), torch.rand(6000, generator=generator)


def subject(row) -> tuple[Bounded, torch.Tensor]:
    if row["model"] == "sketched":
        model, x = sketched()
    else:
        model, x = load_shipped(row["model"]), mnist_sample()[0][row["item"]]
    return FIELDS[row["field"]](model), x


def again(row) -> Estimate:
    field, x = subject(row)
    return estimate_of(
        field,
        x,
        parse_noise(row["noise"]),
        row["samples"],
        target=row["target"],
        seed=row["seed"],
        item=row["item"],
        until=None if row["until"] is None else asking(*row["until"]),
        parts=8,
        statistics=basic_statistics(),
    )


def rule_of(evidence: Evidence) -> str | None:
    epsilon = float(evidence.max_epsilon(0.8)) or float(evidence.max_epsilon(0.0))
    return evidence.rule_at(epsilon) if epsilon > 0 else None


def rows():
    for number, row in enumerate(ROWS):
        marks = [] if number in QUICK else [pytest.mark.slow]
        yield pytest.param(row, marks=marks, id=f"{number}-{row['model']}-{row['field']}-{row['noise']}")


def test_there_are_fifty_of_every_kind() -> None:
    assert len(ROWS) == 50
    assert {row["field"] for row in ROWS} == set(FIELDS)
    assert len(QUICK) == 12
    assert {ROWS[number]["field"] for number in QUICK} == set(FIELDS)
    assert {row["rule"] for row in ROWS} == {"tight", "covariance", "curvature", None}
    assert {row["stopped"] for row in ROWS} > {"budget"}


@pytest.mark.parametrize("row", list(rows()))
def test_the_same_draws_give_the_same_certificate(row) -> None:
    assert torch.get_num_threads() == 1, "sums in another order differ in their last digits"
    result = again(row)
    evidence, closeness = result.evidence, result.evidence.fact(Closeness)
    near = {"rel": 1e-9, "abs": 1e-9}
    for cosine, epsilon in row["max_epsilon"].items():
        assert float(evidence.max_epsilon(float(cosine))) == pytest.approx(epsilon, **near)
    for epsilon, cosine in row["cosine"].items():
        assert float(evidence.cosine(float(epsilon))) == pytest.approx(cosine, **near)
    assert evidence.fact(Length).sampled == pytest.approx(row["norm"], **near)
    assert evidence.fact(Length).lower == pytest.approx(row["norm_lower"], **near)
    assert float(evidence.eigenvalue) == pytest.approx(row["eigenvalue_upper"], **near), "never above the trace"
    assert closeness.radius == pytest.approx(row["map_radius"], **near)
    assert (result.draws, result.stopped, rule_of(evidence)) == (row["draws"], row["stopped"], row["rule"])
    visible = float(visible_cosine(evidence, 0.1, result.draws))
    if row["until"] is None:
        assert visible == pytest.approx(row["visible"], **near)
    else:  # the attacked map's part of alpha is now spent over the looks too
        assert visible <= row["visible"] + 1e-9
    moved = float(evidence.displacement(0.1)) + float(closeness.radius)
    assert top_k_overlap(result.map.numpy(), 100, moved) == row["top_k"]
