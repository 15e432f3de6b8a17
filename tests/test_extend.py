"""The worked examples of docs/extend.md, run as they stand: one file and one registry line each."""

import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import torch

import attribound as ab
from attribound.attacks import launch
from attribound.bounds import LAWS, evidence, registry, rules
from attribound.certificates import record, verify_record
from attribound.data import open_data, specs
from attribound.fields import specs as field_specs
from attribound.noise import parse_noise
from attribound.sampling import Plan, Source, estimate
from attribound.sampling.norm import Norm
from attribound.sampling.radius import MapRadius
from attribound.sampling.spread import SecondMoments
from tests.problems import AbsFirst

PAGE = (Path(__file__).parent.parent / "docs" / "extend.md").read_text()
BLOCKS = dict(re.findall(r"```python\n# src/(attribound/[a-z_/]+)\.py\n(.*?)```", PAGE, flags=re.S))


@pytest.fixture
def load(monkeypatch):
    """Run a block of the page as the module that its first line names."""

    def load(path: str) -> types.ModuleType:
        name = path.replace("/", ".")
        module = types.ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        exec(compile(BLOCKS[path], f"docs/extend.md: {path}", "exec"), module.__dict__)
        return module

    return load


def test_every_kind_of_thing_has_an_example() -> None:
    assert len(BLOCKS) == 6
    assert all(len(code.splitlines()) < 75 for code in BLOCKS.values()), "one small file each"


def test_a_law(load, monkeypatch, noise_model, sample) -> None:
    halo = load("attribound/bounds/halo").Halo
    monkeypatch.setitem(LAWS, "halo", halo)
    field, x = ab.Unit(ab.Saliency(noise_model)), sample[0][0]
    radius = 0.5 * 786**0.5
    found = ab.certify(field, x, noise=parse_noise(f"halo:{radius!r}"), samples=512, seed=0)
    usual = ab.certify(field, x, noise=ab.Gaussian(0.5), samples=512, seed=0)
    assert found.noise.startswith("halo:")
    assert found.max_epsilon(0.8) == pytest.approx(usual.max_epsilon(0.8), rel=0.05)
    assert verify_record(found).problems == []
    attack = ab.attack(
        field, x, noise=parse_noise(f"halo:{radius!r}"), epsilon=0.3, steps=2, samples=16, method="direct"
    )
    assert attack.score.cosine_most >= found.cosine(0.3)


def test_a_rule_with_its_statistic(load, monkeypatch) -> None:
    """The saliency of |y_1| far from zero is nearly always the same vector."""
    rule = load("attribound/bounds/rules/agreement")
    counted = load("attribound/sampling/agreement")
    more = (*rules.RULES, rule.Agreeing())
    for module in (rules, evidence):
        monkeypatch.setattr(module, "RULES", more)
    for module in (registry, record):
        monkeypatch.setitem(module.FACTS, rule.Agreement.name, rule.Agreement)
    field, x = ab.Unit(ab.Saliency(AbsFirst())), torch.tensor([3.0, 0.0], dtype=torch.float64)
    statistics = [Norm(1 / 8), SecondMoments(1 / 8), MapRadius(1 / 4), counted.Agreements(1 / 2)]
    found = estimate(Source(field, x, 0, ab.Gaussian(1.0)), Plan(4096, 1e-3), x.shape, statistics).evidence
    assert float(found.fact(rule.Agreement).lower) > 0.99
    for epsilon in (0.1, 0.5, 1.0):
        assert 0.5 < float(found.cosines(epsilon)["agreement"]) <= 1.0
    truth = np.where(np.linspace(0.1, 5, 50) < 3, 1.0, -1.0)
    stated = np.array([float(found.cosines(epsilon)["agreement"]) for epsilon in np.linspace(0.1, 5, 50)])
    assert (stated <= truth).all()


def test_a_field(load, monkeypatch, noise_model, sample) -> None:
    quadrants = load("attribound/fields/quadrants").Quadrants
    monkeypatch.setitem(field_specs._METHODS, "quadrants", lambda model, output: quadrants(model, output))
    field = field_specs.make_field(noise_model, "quadrants", maps=("centred",))
    found = ab.certify(field, sample[0][0], noise=ab.Gaussian(0.5), samples=512, seed=0, cells=(0.5,))
    assert found.attribution.shape == (2, 2)
    assert found.max_epsilon(0.8) > 0
    assert found.cells(0.5, 0.1).shape == (2, 2)
    attack = ab.attack(field, sample[0][0], noise=ab.Gaussian(0.5), epsilon=0.2, steps=2, samples=16, method="direct")
    assert attack.score.cosine_most >= found.cosine(0.2)


def test_an_attack(load, monkeypatch, noise_model, sample) -> None:
    monkeypatch.setitem(launch.METHODS, "fade", load("attribound/attacks/fade").Fade)
    field = ab.Unit(ab.Saliency(noise_model))
    result = ab.attack(field, sample[0][0], noise=ab.Gaussian(0.5), epsilon=0.5, method="fade", steps=4, samples=16)
    assert result.method == "fade"
    assert 0 < result.length <= 0.5


def test_a_reader(load, monkeypatch, tmp_path) -> None:
    reader = load("attribound/data/numbers")
    monkeypatch.setitem(specs.READERS, "numbers", specs.Reader("numbers:FILE", reader.open_numbers))
    (tmp_path / "a.txt").write_text("1 2 3\n4 5 6\n")
    data = open_data(f"numbers:{tmp_path / 'a.txt'}")
    assert (len(data), data.shape, data.label(0)) == (2, (3,), None)
    assert data.image(1).tolist() == [4.0, 5.0, 6.0]
