"""The pytest plugin in somebody else's test suite."""

import tomllib
from importlib import import_module
from pathlib import Path

import pytest

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


def test_markers_are_listed(pytester: pytest.Pytester) -> None:
    done = pytester.runpytest("-p", "attribound.pytest", "--markers")
    done.stdout.fnmatch_lines(["*@pytest.mark.certified(?*options): what the fixture*"])


def test_installing_registers_it() -> None:
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
    (module,) = project["entry-points"]["pytest11"].values()
    assert list(project["entry-points"]["pytest11"]) == [module]
    assert callable(import_module(module).assert_certified)
