"""What certificates say about epsilon and about draws that were not taken."""

import pytest
import torch

from attribound import Gaussian, Saliency, Unit, certify
from attribound.bounds import LAWS
from attribound.bounds.budgets import Budget
from attribound.noise import NoiseOf
from attribound.report.shared import wording
from attribound.runs import RunConfig
from tests.problems import AbsFirst

X = torch.tensor([0.6, 0.1])
COUNTED = "epsilon is the change's size in units of each feature"


@pytest.mark.parametrize("kind", LAWS)
def test_with_units_every_sentence_says_what_epsilon_counts(kind) -> None:
    found = certify(Unit(Saliency(AbsFirst())), X, 0, noise=NoiseOf(LAWS[kind], 0.5, Budget((2.0, 0.5))), samples=512)
    said = [repr(found), found.explain(0.5, 0.01), found.explain(0.8, 5.0)]
    assert "certified: cosine" in said[1]
    assert "is not certified" in said[2]
    assert all(COUNTED in text for text in said)
    assert "the change&#x27;s size in units of each feature" in found._repr_html_()


def test_without_units_epsilon_is_an_l2_size() -> None:
    found = certify(Unit(Saliency(AbsFirst())), X, 0, noise=Gaussian(0.5), samples=512)
    assert "the change&#x27;s l2 size" in found._repr_html_()
    assert not any("units" in text for text in (repr(found), found.explain(0.5, 0.01), found.explain(0.8, 5.0)))


@pytest.mark.parametrize(("units", "size"), [(None, "l2 size"), ((1.0, 2.0), "size in units of each feature")])
def test_the_limits_of_a_page_name_the_budget(units, size) -> None:
    config = RunConfig(model="m", data="d", noise="gaussian:0.5", units=units)
    assert f"every change of the input whose {size} is at most epsilon" in " ".join(wording.limits(config))


def test_a_question_given_up_early_says_so_and_names_no_largest_epsilon() -> None:
    field = Unit(Saliency(AbsFirst()))
    early = certify(field, X, 0, noise=Gaussian(0.5), samples=4096, until=(0.8, 2.0), seed=1)
    assert early.record.stopped == "futile"
    said = early.explain(0.8, 2.0)
    assert (
        f"sampling stopped after {early.samples:,} of 4,096 samples because what was asked could not be proved" in said
    )
    assert "these draws reach epsilon" in said
    assert "all may reach further" in said
    assert "largest epsilon" not in said
    whole = certify(field, X, 0, noise=Gaussian(0.5), samples=4096, seed=1)
    assert early.samples < whole.samples
    assert "the largest epsilon certified is" in whole.explain(0.8, 2.0)
    assert "stopped" not in whole.explain(0.8, 2.0)


def test_a_question_proved_early_says_so_when_more_is_asked() -> None:
    early = certify(Unit(Saliency(AbsFirst())), X, 0, noise=Gaussian(0.5), samples=4096, until=(0.5, 0.01), seed=1)
    assert early.record.stopped == "proved"
    assert "samples because what was asked was proved; these draws reach epsilon" in early.explain(0.8, 2.0)
