"""The pytest plugin in somebody else's test suite."""

import inspect
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
import torch

import attribound as ab
from attribound.certificates.explain import FIDELITY
from attribound.cli.pipeline import gate
from attribound.errors import ArgumentError
from attribound.pytest import assert_certified
from attribound.runs.gate import Asked
from attribound.tuning import tune

pytest_plugins = ("pytester",)

SUITE = """
import pytest
import torch
import attribound as ab
from attribound.pytest import assert_certified as check

model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(6, 3)).eval()
x = torch.linspace(0, 1, 6)
NOISE = ab.Gaussian(0.5)

@pytest.mark.certified(cosine=0.8, epsilon=0.1, noise=NOISE, samples=512)
def test_marked(assert_certified):
    found = assert_certified(model, x)
    assert found.cosine(0.1) >= 0.8

@pytest.mark.certified(cosine=0.8, epsilon=0.1, noise=NOISE, samples=512)
class TestClass:
    @pytest.mark.certified(epsilon=9.0)
    def test_too_much(self, assert_certified):
        assert_certified(model, x)

    def test_overridden(self, assert_certified):
        assert_certified(ab.Unit(ab.Saliency(model)), x, target=1, epsilon=0.05)

def test_called_directly():
    check(model, x, cosine=0.8, epsilon=0.1, noise=NOISE, samples=512)

def test_assumed():
    field = ab.Assumed(ab.Saliency(model), 10.0)
    check(field, x, cosine=0.1, epsilon=0.001, noise=NOISE, samples=512)
"""


def test_a_suite_with_the_plugin(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SUITE)
    done = pytester.runpytest("-p", "attribound.pytest", "--strict-markers", "-p", "no:cacheprovider")
    done.assert_outcomes(passed=3, failed=2)
    done.stdout.fnmatch_lines(["*Failed: cosine 0.8 is not certified at epsilon 9*"])
    done.stdout.fnmatch_lines(["*Failed:*ASSUMED*not a certificate*"])
    done.stdout.no_fnmatch_line("*pytest.fail(*")  # the failure points at the user's own line
    done.stdout.no_fnmatch_line("*{**options, **others}*")


def test_a_blinded_model_fails() -> None:
    """Much noise makes every explanation robust: the average over all slopes is not the slope here."""

    class Kinked(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            score = x[:, 0].relu() - 9 * (x[:, 1:] - 1).relu().sum(dim=1)
            return torch.stack([score, -score], dim=1)

    asked = {"cosine": 0.5, "epsilon": 0.1, "noise": ab.Gaussian(25.0), "samples": 2048, "target": 0}
    x = torch.full((3,), 0.5)
    with pytest.raises(pytest.fail.Exception, match=r"fidelity \(cosine of .*\) is only 0\.\d+, less than 0\.5"):
        assert_certified(Kinked(), x, **asked)
    found = assert_certified(Kinked(), x, **asked, fidelity=0)
    assert found.fidelity < 0.5
    assert f"fidelity={found.fidelity:.2f}" in repr(found)
    assert "less than 0.5" in found.explain(0.5, 0.1)
    with pytest.raises(ArgumentError, match="expected `fidelity` in"):
        assert_certified(Kinked(), x, **asked, fidelity=2.0)


def test_all_floors_are_one() -> None:
    floors = {inspect.signature(one).parameters["fidelity"].default for one in (assert_certified, Asked, tune, gate)}
    assert floors == {FIDELITY}


def test_markers_are_listed(pytester: pytest.Pytester) -> None:
    done = pytester.runpytest("-p", "attribound.pytest", "--markers")
    done.stdout.fnmatch_lines(["*@pytest.mark.certified(?*options): what the fixture*"])


def test_installing_registers_it() -> None:
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
    (module,) = project["entry-points"]["pytest11"].values()
    assert list(project["entry-points"]["pytest11"]) == [module]
    assert callable(import_module(module).assert_certified)
