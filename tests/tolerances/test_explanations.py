"""Whichever of these: lists of other explanations, tried exactly."""

import pytest
import torch

import attribound as ab
from attribound.errors import ArgumentError, FieldError
from attribound.fields import Explanation, Field
from attribound.fields.precision import in_precision
from attribound.tolerances.sheet_file import read_sheet, sheet_problems
from tests.problems import Linear

X = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)


def saliency(*weights):
    """Its map is the weights, scaled; its class is 0 where they speak for the input."""
    return ab.Saliency(Linear(torch.tensor(weights, dtype=torch.float64)))


def ask(others, field=None, **asked):
    field = ab.Unit(saliency(3.0, 4.0, 0.0)) if field is None else field
    return ab.tolerance(field, X, ab.Explanations(others), **asked)["explanations"]


def test_every_explanation_is_tried():
    """Cosines with (0.6, 0.8, 0): 0.96 for (0.8, 0.6, 0), and exactly 0.6 for (1, 0, 0)."""
    near, far = saliency(8.0, 6.0, 0.0), saliency(1.0, 0.0, 0.0)
    assert ask([near, ab.Unit(near)], cosine=0.9).reach(0.9) == (0, 1)
    known = ask({"near": near, "far": far}, cosine=(0.5, 0.7))
    assert known.proof == "exact"
    assert known.alpha == 0
    assert known.reach(0.5) == (0, 1)
    assert known.reach(0.7) == (0, 0)
    assert known.broken[0.7].label == "far"
    assert known.broken[0.7].cosine == pytest.approx(0.6)
    assert set(known.record.versions) > {"explanation near", "explanation far"}


def test_the_class_is_that_of_each_model():
    against = saliency(-3.0, -4.0, 0.0)
    assert ask([saliency(3.0, 4.0, 1.0)]).class_reach == (0, 1)
    assert ask([saliency(3.0, 4.0, 1.0), against]).class_reach == (0, 0)


def test_a_sheet_is_kept_and_checked(tmp_path):
    sheet = ab.tolerance(ab.Unit(saliency(3.0, 4.0, 0.0)), X, ab.Explanations([saliency(3.0, 4.0, 1.0)]))
    sheet.save(tmp_path / "sheet.json")
    assert sheet_problems(read_sheet(tmp_path / "sheet.json")) == []
    assert "every alternative was tried" in sheet.words()


class Random(Field):
    name, random = "random", True

    def __init__(self):
        self.model = Linear(torch.zeros(3, dtype=torch.float64))

    def explain(self, inputs, target, *, generator=None, create_graph=False):
        return Explanation(torch.rand(inputs.shape, generator=generator))


def test_refusals():
    with pytest.raises(ArgumentError, match="at least one"):
        ab.Explanations([])
    with pytest.raises(FieldError, match="random numbers"):
        ab.Explanations([Random()])
    dropout = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Linear(3, 2))
    with pytest.raises(FieldError, match="evaluation mode"):
        ab.Explanations([ab.Saliency(dropout)])
    with pytest.raises(FieldError, match="maps of 3 numbers"):
        ask([ab.Grouped(saliency(1.0, 1.0, 1.0), [0, 1, 1])])


class Seen(torch.nn.Module):
    """Remembers in which precision it was run."""

    def __init__(self):
        super().__init__()
        self.linear, self.kinds = torch.nn.Linear(3, 2), set()

    def forward(self, x):
        scores = self.linear(x)
        self.kinds.add(scores.dtype)
        return scores


def test_all_are_run_in_the_precision_that_the_record_names():
    first, other = Seen(), Seen()
    field = in_precision(ab.Unit(ab.Saliency(first.eval())), "bfloat16")
    sheet = ab.tolerance(field, X.float(), ab.Explanations([ab.Saliency(other.eval())]), cosine=0.1)
    assert sheet["explanations"].record.subject.precision == "bfloat16"
    assert other.kinds == {torch.bfloat16}
