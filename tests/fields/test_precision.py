"""Models run in bfloat16: the certificate is about their maps, whatever is asked about them."""

import warnings

import msgspec
import pytest
import torch
from torch import nn

import attribound as ab
from attribound.attacks import Direct
from attribound.attacks.challenge import challenge
from attribound.certificates.verify import verify_record
from attribound.certification.again import sample_again
from attribound.certification.certifier import certify_again
from attribound.errors import AttriboundWarning
from attribound.fields import precision
from attribound.fields.base import Explanation, innermost
from attribound.fields.families import Around
from attribound.fields.precision import in_precision, slow_here
from attribound.fields.rows import independent, probe_rows
from attribound.hashes import model_hash
from attribound.noise import Gaussian
from attribound.runs.config import RunConfig
from attribound.runs.membership import foreign

EVERYTHING = {"cells": (0.5,), "reasons": 2, "intervals": True}


@pytest.fixture(autouse=True)
def capable(monkeypatch):
    """A processor that says nothing about speed; the test of the line sets its own."""
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True}, raising=False)


@pytest.fixture
def model():
    torch.manual_seed(0)
    layers = (nn.Conv2d(1, 6, 3, padding=1), nn.Softplus(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(96, 3))
    return nn.Sequential(*layers).eval().requires_grad_(False)


@pytest.fixture
def x():
    return torch.rand(1, 8, 8, generator=torch.Generator().manual_seed(1))


FIELDS = {
    "saliency": lambda model: ab.Unit(ab.Saliency(model)),
    "gradcam": lambda model: ab.Unit(ab.GradCAM(model, "1")),
    "probability": lambda model: ab.Clip(ab.Saliency(model, output="probability"), 0.1),
    "pooled ig": lambda model: ab.Unit(ab.Centred(ab.Pooled(ab.IntegratedGradients(model, steps=4), 4))),
    "random path": lambda model: ab.Unit(ab.IntegratedGradients(model, steps=4, path="random")),
}


@pytest.mark.parametrize("name", FIELDS)
def test_every_statement_is_made_about_the_rounded_model(name, model, x):
    field = FIELDS[name](model)
    asked = EVERYTHING if field.block == 1 else {"intervals": True}
    made = ab.certify(field, x, noise=Gaussian(0.05), samples=256, seed=0, precision="bfloat16", **asked)
    record = made.record
    assert record.subject.precision == "bfloat16"
    assert record.model_sha256 == model_hash(model)
    assert not verify_record(made).problems
    assert made.max_epsilon(0.8) > 0
    exact = ab.certify(field, x, noise=Gaussian(0.05), samples=256, seed=0, **asked)
    assert exact.record.subject.precision == "float32"
    assert set(record.facts) == set(exact.record.facts)
    cosine = float(
        torch.nn.functional.cosine_similarity(*(torch.tensor(one.map).flatten() for one in (made, exact)), 0)
    )
    assert 0.99 < cosine < 1 - 1e-12  # about the same map, and not the same


def test_maps_are_no_longer_than_the_limit_and_logits_are_float32(model, x):
    field = in_precision(FIELDS["saliency"](model), "bfloat16")
    given = field.explain(x.expand(64, *x.shape), 0)
    assert given.maps.dtype == torch.float64
    assert float((given.maps.flatten(1).norm(dim=1) - 1).abs().max()) < 1e-12
    assert given.logits is not None
    assert given.logits.dtype == torch.float32
    assert field.model(x[None]).dtype == torch.float32
    assert not torch.equal(field.model(x[None]), model(x[None]))
    assert torch.equal(field.model(x[None]), given.logits[:1])


def test_going_back_gives_the_field_itself(model):
    field = FIELDS["pooled ig"](model)
    there = in_precision(field, "bfloat16")
    back = in_precision(there, "float32")
    assert (field.precision, there.precision, back.precision) == ("float32", "bfloat16", "float32")
    assert innermost(back) is innermost(field)
    assert (there.name, there.reshaped) == (back.name, back.reshaped) == (field.name, field.reshaped)
    assert in_precision(there, "bfloat16") is there


def test_fidelity_is_that_to_the_exact_map(model, x):
    made = ab.certify(FIELDS["saliency"](model), x, 0, noise=Gaussian(0.05), samples=64, seed=0, precision="bfloat16")
    plain = FIELDS["saliency"](model).attribute(x[None], 0)[0]
    expected = torch.nn.functional.cosine_similarity(plain.flatten(), torch.tensor(made.map).flatten(), 0)
    assert made.record.fidelity == pytest.approx(float(expected), abs=1e-9)


class Crowded(nn.Module):
    """Rows see each other, but only where the model is rounded."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(64, 3, generator=torch.Generator().manual_seed(0)), requires_grad=False)

    def forward(self, inputs):
        flat = inputs.flatten(1)
        if torch.is_autocast_enabled("cpu"):
            flat = flat + flat.mean(dim=0, keepdim=True)
        return flat @ self.weight


def test_rows_are_probed_in_that_precision(x):
    field = ab.Unit(ab.Saliency(Crowded()))
    ab.certify(field, x, noise=Gaussian(0.1), samples=16)
    with pytest.raises(ab.AttriboundError, match="with the batch around it"):
        ab.certify(field, x, noise=Gaussian(0.1), samples=16, precision="bfloat16")


class CrowdedMethod(ab.Field):
    """A method whose maps, and nothing else, see the batch where the model is rounded."""

    name = "crowded"

    def __init__(self, model):
        self.model = model

    def explain(self, inputs, target, *, generator=None, create_graph=False):
        return Explanation(inputs + (inputs.mean(dim=0) if torch.is_autocast_enabled("cpu") else 0.0))


def test_methods_are_probed_in_that_precision(model, x):
    field = in_precision(ab.Unit(CrowdedMethod(model)), "bfloat16")
    generator = torch.Generator().manual_seed(0)
    family = Around(field, 0, x)
    slow = independent(family, family.noise(Gaussian(0.1), probe_rows(field), generator), generator)
    assert type(innermost(field)) is CrowdedMethod
    assert slow is not family
    assert slow.field.precision == "bfloat16"


def test_again_and_attacks_use_the_record_s_precision(model, x):
    field = FIELDS["gradcam"](model)
    made = ab.certify(field, x, noise=Gaussian(0.05), samples=64, seed=0, precision="bfloat16")
    assert (certify_again(made, field, x, Gaussian(0.05)).map == made.map).all()
    assert sample_again(made, field, x, Gaussian(0.05)).problems == []
    finding = challenge(
        made, field, x, [Direct(steps=3, samples=8, rescore_samples=256)], measure_tightness=False
    ).finding
    assert not finding.worst_most < finding.certified


def test_a_record_of_another_precision_is_foreign_to_a_run(model, x):
    record = ab.certify(FIELDS["saliency"](model), x, noise=Gaussian(0.05), samples=64, precision="bfloat16").record
    config = RunConfig(model="m", data="d")
    assert "has precision bfloat16, its run float32" in foreign(record, config)
    rounded = msgspec.structs.replace(config, precision="bfloat16")
    assert not [line for line in foreign(record, rounded) if "precision" in line]


def test_a_tolerance_is_about_the_rounded_model(model, x):
    sheet = ab.tolerance(FIELDS["gradcam"](model), x, "flip", precision="bfloat16")
    assert "in bfloat16" in repr(sheet)
    assert sheet["flip"].record.model_sha256 == model_hash(model)  # not that of what runs it in bfloat16
    with pytest.raises(ab.AttriboundError, match="got 'half'"):
        ab.tolerance(FIELDS["gradcam"](model), x, "flip", precision="half")


def test_a_model_is_not_rounded_behind_the_record_s_back(model, x):
    """Under autocast the model ran in bfloat16, and records said float32."""
    field = FIELDS["gradcam"](model)
    plain, sheet = ab.certify(field, x, noise=Gaussian(0.05), samples=64, seed=0), ab.tolerance(field, x, "flip")
    with torch.autocast("cpu", torch.bfloat16):
        cast = ab.certify(field, x, noise=Gaussian(0.05), samples=64, seed=0)
        turned = ab.tolerance(field, x, "flip")
        rounded = ab.certify(field, x, noise=Gaussian(0.05), samples=64, seed=0, precision="bfloat16")
    assert cast.evidence == plain.evidence
    assert turned["flip"].record.facts == sheet["flip"].record.facts
    assert rounded.evidence != plain.evidence


def test_what_cannot_be_rounded_is_refused_in_a_line(model, x):
    options = {"noise": Gaussian(0.05), "samples": 16}
    with pytest.raises(ab.AttriboundError, match=r"expected `precision` 'float32', .*, got 'float8'"):
        ab.certify(FIELDS["saliency"](model), x, precision="float8", **options)
    with pytest.raises(ab.AttriboundError, match="proved for exact maps"):
        ab.certify(ab.Proved(ab.Saliency(model), 9.0, "by hand"), x, precision="bfloat16", **options)
    with pytest.raises(ab.AttriboundError, match="a torch module with weights"):
        ab.certify(ab.Unit(ab.Saliency(lambda z: model(z))), x, precision="bfloat16", **options)
    with pytest.raises(ab.AttriboundError, match="float32 inputs"):
        in_precision(FIELDS["saliency"](model), "bfloat16").attribute(x[None].double(), 0)


def test_a_processor_without_the_instructions_says_so(monkeypatch, model, x):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_f": True, "avx512_bf16": False})
    assert slow_here("float32", "cpu") == ""
    assert slow_here("bfloat16", "cuda") == ""
    with pytest.warns(AttriboundWarning, match="no bfloat16 instructions: float32 is faster here"):
        made = ab.certify(FIELDS["saliency"](model), x, noise=Gaussian(0.05), samples=16, precision="bfloat16")
    assert made.record.subject.precision == "bfloat16"
    monkeypatch.setattr(torch.cpu, "get_capabilities", dict)
    assert slow_here("bfloat16", "cpu") == ""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ab.certify(FIELDS["saliency"](model), x, noise=Gaussian(0.05), samples=16, precision="bfloat16")


def test_float16_is_for_accelerators(model, x):
    assert slow_here("float16", "cuda") == ""
    with pytest.raises(ab.AttriboundError, match="on a processor: float16 is for accelerators"):
        ab.certify(FIELDS["saliency"](model), x, noise=Gaussian(0.05), samples=16, precision="float16")
    short = in_precision(in_precision(FIELDS["saliency"](model), "bfloat16"), "float16")
    assert (short.precision, in_precision(short, "float32").precision) == ("float16", "float32")


def test_bfloat16_is_recommended_only_where_the_clock_says_that_it_pays(monkeypatch, model, x):
    field = FIELDS["saliency"](model)
    monkeypatch.setattr(torch.cpu, "get_capabilities", dict)
    for gain, line in ((1.2, ""), (2.0, "note: maps in bfloat16 are 2.0 times as fast here (--precision bfloat16)")):
        took = {"float32": gain, "bfloat16": 1.0}
        monkeypatch.setattr(precision, "seconds", lambda field, x, rows, took=took: took[field.precision])
        assert precision.advice(field, x) == line
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": False})
    assert "no bfloat16 instructions" in precision.advice(field, x)
    assert precision.advice(ab.Proved(ab.Saliency(model), 9.0, "by hand"), x) == ""
