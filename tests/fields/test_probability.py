"""The gradient of a probability: by the margin it is the softmax's, without the softmax's cancellation."""

import copy
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from attribound.data import open_data
from attribound.fields import GradCAM, IntegratedGradients, Saliency, Unit
from attribound.fields.base import Field, Model, explained_gradient
from attribound.models import load_model

WEIGHTS = torch.tensor([[3.0, -1.0, 0.5], [0.0, 2.0, -1.0], [-1.0, 0.5, 1.0]])
FIELDS: dict[str, Callable[[Model], Field]] = {
    "saliency": lambda model: Unit(Saliency(model, "probability")),
    "ig": lambda model: Unit(IntegratedGradients(model, output="probability")),
    "gradcam": lambda model: Unit(GradCAM(model, output="probability")),
}


def linear(weights: Tensor) -> nn.Module:
    """(B, d) to (B, K)."""
    model = nn.Linear(weights.shape[1], weights.shape[0], bias=False)
    model.weight = nn.Parameter(weights)
    return model


def softmax_gradient(model: Model, points: Tensor, target: Tensor) -> Tensor:
    """The plain way."""
    share = model(points).softmax(dim=1).gather(1, target[:, None])
    return torch.autograd.grad(share.sum(), points, create_graph=True)[0]


def by_margin(model: Model, points: Tensor, target: Tensor) -> Tensor:
    return explained_gradient(model(points), target, "probability", inputs=points, create_graph=True)


def test_it_is_the_softmaxs_gradient_and_so_is_its_derivative() -> None:
    """In float64, where nothing is saturated, one target per row; attacks differentiate maps."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 4)).double()
    points, target = torch.randn(6, 5, dtype=torch.float64, requires_grad=True), torch.tensor([0, 1, 2, 3, 0, 1])
    expected, given = softmax_gradient(model, points, target), by_margin(model, points, target)
    assert torch.allclose(given, expected, rtol=1e-10, atol=0)
    weights = torch.randn(6, 5, dtype=torch.float64)
    twice = [torch.autograd.grad((weights * maps).sum(), points, retain_graph=True)[0] for maps in (expected, given)]
    assert torch.allclose(twice[1], twice[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", FIELDS)
def test_float32_and_float64_give_the_same_unit_map(name: str) -> None:
    """On noisy digits, most of them saturated; the softmax's own gradient is off by 1e-8 in the mean.

    The median: at a kink of the network a draw may differ by more, in any arithmetic.
    """
    model, data = load_model("mnist-cnn-noise"), open_data("mnist-sample")
    precise, generator = copy.deepcopy(model).double(), torch.Generator().manual_seed(0)
    apart = []
    for item in range(4):
        x = data.input(item)
        points = x + 0.5 * torch.randn(32, *x.shape, generator=generator)
        target = int(model(x[None]).argmax())
        first = FIELDS[name](model).attribute(points, target)
        second = FIELDS[name](precise).attribute(points.double(), target)
        apart.append((first - second).flatten(1).square().sum(dim=1) / 2)
    assert float(torch.cat(apart).median()) < 2e-13


@pytest.mark.parametrize("scale", [30.0, 100.0, 300.0])
def test_a_saturated_map_keeps_its_direction(scale: float) -> None:
    """A margin of 600 is far beyond float32's exponentials; for two classes the direction is known."""
    weights = torch.tensor([[1.0, 2.0], [-1.0, 0.5]])
    field = Unit(Saliency(linear(weights), "probability"))
    for sign, target in ((1.0, 0), (-1.0, 0), (1.0, 1)):
        x = sign * scale * torch.tensor([[1.0, 0.0]])
        expected = nn.functional.normalize((weights[target] - weights[1 - target]).double(), dim=0)
        assert torch.allclose(field.attribute(x, target)[0], expected, rtol=1e-6)


def test_beyond_all_exponentials_the_map_is_zero() -> None:
    field = Unit(Saliency(linear(torch.tensor([[1.0, 0.0], [-1.0, 0.0]])), "probability"))
    assert not field.attribute(torch.tensor([[1e4, 0.0]]), 0).any()


class RuledOut(nn.Module):
    """Classes 1 and 2 are ruled out for rows whose first number is negative, by a logit of minus infinity."""

    def forward(self, inputs: Tensor) -> Tensor:
        """Three logits."""
        out = torch.tensor([False, True, True]) & (inputs[:, :1] < 0)
        return (inputs @ WEIGHTS.T).masked_fill(out, -torch.inf)


def test_a_class_that_is_ruled_out_has_no_gradient() -> None:
    """Minus infinity is a number like any other, for the explained class and for all others at once."""
    points = torch.tensor([[-1.0, 0.3, 0.2], [1.0, 0.3, 0.2]])
    for target in (0, 1):
        maps = Saliency(RuledOut(), "probability").attribute(points, target)
        assert not maps[0].any()
        assert torch.isfinite(maps[1]).all()
        assert maps[1].any()


def test_integrated_gradients_still_add_up_to_the_probability() -> None:
    """Completeness: p(x) - p(b), also where both ends are saturated; the midpoint rule's error is 1e-5."""
    x, model = torch.tensor([[4.0, -3.0, 1.0]]), linear(WEIGHTS)
    total = IntegratedGradients(model, steps=400, output="probability").attribute(x, 0).sum()
    ends = [float(model(point).detach().softmax(dim=1)[0, 0]) for point in (x, 0 * x)]
    assert float(total) == pytest.approx(ends[0] - ends[1], abs=1e-4)
