"""Models people have: whatever they return becomes logits, or the message says what to return."""

from collections import namedtuple
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from attribound.errors import ArgumentError, FieldError
from attribound.models import Fixed, FromProbabilities, Logits, as_logits

LOGITS = torch.tensor([[0.1, 0.9], [0.7, 0.2], [0.3, 0.3]])
Pair = namedtuple("Pair", ["main", "auxiliary"])


@pytest.mark.parametrize(
    "output",
    [
        LOGITS,
        SimpleNamespace(logits=LOGITS, hidden_states=None),
        {"logits": LOGITS, "loss": torch.zeros(())},
        {"out": LOGITS, "aux": LOGITS + 1},
        {"anything": LOGITS},
        (LOGITS, torch.zeros(3)),
        [None, LOGITS],
        Pair(LOGITS, None),
    ],
    ids=["tensor", ".logits", "logits", "out", "one tensor", "tuple", "list", "named tuple"],
)
def test_what_is_understood(output) -> None:
    assert torch.equal(as_logits(output, 3), LOGITS)


@pytest.mark.parametrize("shape", [(3,), (3, 1)])
def test_one_logit_is_two_classes(shape) -> None:
    z = torch.tensor([-2.0, 0.5, 3.0])
    logits = as_logits(z.view(shape), 3)
    assert logits.shape == (3, 2)
    assert logits.argmax(dim=1).tolist() == [0, 1, 1]
    assert torch.allclose(logits.softmax(dim=1)[:, 1], z.sigmoid())
    assert as_logits(z.view(shape), 3, score=True).tolist() == [[-2.0], [0.5], [3.0]]


def test_either_answer_of_a_one_logit_model_has_a_gradient() -> None:
    z = torch.tensor([1.0, 2.0], requires_grad=True)
    logits = as_logits(z, 2)
    gradients = [torch.autograd.grad(logits[:, k].sum(), z, retain_graph=True)[0].tolist() for k in (0, 1)]
    assert gradients == [[-0.5, -0.5], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (torch.zeros(3, dtype=torch.int64), r"got int64 of shape \(3,\): return them before argmax"),
        (torch.zeros(2, 5), r"map 3 inputs to logits \(3, classes\), got a tensor of shape \(2, 5\)"),
        (torch.zeros(3, 4, 5, 5), r"got a tensor of shape \(3, 4, 5, 5\): return one row of logits per input"),
        (torch.zeros(3, 0), r"got a tensor of shape \(3, 0\)"),
        (
            {"a": LOGITS, "b": LOGITS},
            r"got a dict with 'a', 'b': return the entry that holds them, or call it 'logits'",
        ),
        ({}, "got a dict with nothing"),
        ((1, "x"), "got a tuple without a tensor"),
        ("text", "got str: return its tensor of logits"),
        (None, "got NoneType"),
    ],
)
def test_what_is_not(output, message) -> None:
    with pytest.raises(FieldError, match=message):
        as_logits(output, 3)


class Binary(nn.Module):
    """A yes-or-no model that returns a dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 1)

    def forward(self, x):
        return {"logits": self.layer(x)}


def test_wrapped_models() -> None:
    model, x = Binary(), torch.rand(4, 2, generator=torch.Generator().manual_seed(0))
    assert torch.equal(Logits(model)(x)[:, 1], model(x)["logits"][:, 0] / 2)
    assert torch.equal(Logits(model, score=True)(x), model(x)["logits"])


@pytest.mark.parametrize(("layer", "end"), [(nn.Linear(2, 1), nn.Sigmoid()), (nn.Linear(2, 3), nn.Softmax(dim=1))])
def test_models_that_end_in_probabilities(layer, end) -> None:
    x = 5 * torch.randn(6, 2, generator=torch.Generator().manual_seed(1))
    logits = FromProbabilities(nn.Sequential(layer, end))(x)
    wanted = as_logits(layer(x), 6).softmax(dim=1)
    assert torch.allclose(logits.softmax(dim=1), wanted, atol=1e-6)
    with pytest.raises(FieldError, match=r"expected probabilities in \[0, 1\], got .*: leave FromProbabilities out"):
        FromProbabilities(nn.Sequential(layer, nn.Threshold(100, 7.0)))(x)


class Two(nn.Module):
    """Two inputs and a plain setting."""

    def forward(self, x, mask, scale=1.0):
        return (x * mask).sum(dim=(1, 2))[:, None] * torch.tensor([1.0, -1.0]) * scale


def test_other_inputs_are_fixed() -> None:
    generator = torch.Generator().manual_seed(2)
    x, mask = torch.rand(5, 2, 3, generator=generator), torch.rand(1, 2, 3, generator=generator)
    wanted = Two()(x, mask.expand(5, -1, -1), 2.0)
    assert torch.equal(Fixed(Two(), mask, 2.0)(x), wanted)
    assert torch.equal(Fixed(Two(), mask, scale=2.0, at=0)(x), wanted)
    assert torch.equal(Fixed(Two(), mask, scale=2.0, at=1)(x), wanted)
    assert torch.equal(Fixed(Two(), at="x", mask=mask, scale=2.0)(x), wanted)
    assert "fixed_mask" in Fixed(Two(), at="x", mask=mask).state_dict(), "the model's hash must know it"


def test_fixed_inputs_are_for_one_input() -> None:
    with pytest.raises(ArgumentError, match=r"fixed tensors of one input, \(1, \.\.\.\), got shape \(5, 3\)"):
        Fixed(Two(), torch.zeros(5, 3))
    with pytest.raises(ArgumentError, match=r"expected `at` in 0\.\.1 or a name, got 2"):
        Fixed(Two(), torch.zeros(1, 3), at=2)
    with pytest.raises(ArgumentError, match="'mask' is explained and cannot be fixed as well"):
        Fixed(Two(), at="mask", mask=torch.zeros(1, 3))


def test_fixed_keeps_the_mode() -> None:
    assert not Fixed(Two().eval(), torch.zeros(1, 2)).training
