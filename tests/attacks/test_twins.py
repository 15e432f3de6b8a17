"""Smooth twins: close to the originals, in place too, gone afterwards; second derivatives are real."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

import attribound as ab
from attribound.attacks.direct import differentiable_cosine
from attribound.attacks.twins import smooth_twins
from attribound.attacks.view import View
from attribound.errors import FieldError
from attribound.sampling import Around


class Functional(nn.Module):
    """Uses the functions directly, so that replacing modules would miss them."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 3, 3, padding=1)
        self.head = nn.Linear(12, 3)

    def forward(self, y):
        y = functional.leaky_relu(self.conv(y), 0.2)
        y = torch.max_pool2d(y.clone().relu_(), 2)
        return self.head(torch.relu(y).flatten(1))


def sequential(inplace: bool) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 3, 3, padding=1), nn.ReLU(inplace), nn.MaxPool2d(2), nn.LeakyReLU(0.1, inplace),
        nn.Flatten(), nn.Linear(12, 3),
    )  # fmt: skip


class Capped(nn.Module):
    """ReLU6 and its kin, by modules and by functions."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.head = nn.Conv2d(1, 3, 3, padding=1), nn.Linear(48, 3)
        self.act, self.other = nn.ReLU6(inplace=True), nn.Hardtanh(-0.4, 1.2)

    def forward(self, y):
        y = functional.relu6(self.act(4 * self.conv(y)) + 0.2 * self.conv(y))
        return self.head(self.other(0.5 * y - 0.6).flatten(1))


MODELS = {
    "modules": lambda: sequential(False),
    "in place": lambda: sequential(True),
    "functions": Functional,
    "capped": Capped,
}


def make(name: str) -> nn.Module:
    torch.manual_seed(1)
    return MODELS[name]().double().eval()


@pytest.mark.parametrize("name", MODELS)
def test_twins_approach_the_originals(name: str) -> None:
    model, y = make(name), torch.randn(5, 1, 4, 4, dtype=torch.float64)
    truth = model(y)
    errors = []
    for sharpness in (10.0, 100.0, 1000.0):
        with smooth_twins(sharpness):
            errors.append(float((model(y) - truth).abs().max().detach()))
    assert errors[0] > errors[1] > errors[2] > 0
    assert errors[2] < 5e-3


@pytest.mark.parametrize("name", MODELS)
def test_the_model_is_never_changed(name: str) -> None:
    model, y = make(name), torch.randn(2, 1, 4, 4, dtype=torch.float64)
    before, twin = model(y), copy.deepcopy(model)
    ab.attack(ab.Saliency(model), y[0], 0, epsilon=0.5, method="direct", steps=3, keep_label=False)
    assert torch.equal(model(y), before)
    assert str(model) == str(twin)
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("field", ["saliency", "ig", "unit", "clip"])
@pytest.mark.parametrize("noise", [None, ab.Gaussian(0.3), ab.UniformBall(1.0)], ids=["plain", "gaussian", "uniform"])
def test_attack_gradient_matches_finite_differences(name: str, field: str, noise) -> None:
    model = make(name)
    base = ab.IntegratedGradients(model, steps=3) if field == "ig" else ab.Saliency(model)
    attacked = {"unit": ab.Unit(base), "clip": ab.Clip(base, 0.1)}.get(field, base)
    x = torch.randn(1, 4, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    reference = torch.randn(16, dtype=torch.float64, generator=torch.Generator().manual_seed(3))

    def loss(values):
        return 1 - differentiable_cosine(values, reference) + 0.1 * values.sum()

    def at(point) -> float:
        return float(loss(seen(point).map(torch.Generator().manual_seed(4))))

    def seen(point) -> View:
        return View(Around(attacked, 1, point), noise, samples=4)

    with smooth_twins():
        _, slope = seen(x).slope(loss, torch.Generator().manual_seed(4))
        _, in_parts = seen(x)._slope_in_parts(loss, torch.Generator().manual_seed(4))
        steps = torch.eye(16, dtype=torch.float64).view(16, 1, 4, 4) * 1e-5
        numeric = torch.tensor([(at(x + h) - at(x - h)) / 2e-5 for h in steps], dtype=torch.float64).view(1, 4, 4)
    assert float(slope.norm()) > 1e-3
    assert torch.allclose(slope, numeric, atol=1e-5 * float(numeric.norm()) + 1e-7)
    assert torch.allclose(in_parts, slope, atol=1e-9)


def test_without_twins_the_second_derivative_vanishes() -> None:
    """The reason for the twins: a ReLU network's saliency is piecewise constant."""
    model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2)).double()
    x, generator = torch.randn(4, dtype=torch.float64), torch.Generator()
    view = View(Around(ab.Saliency(model), 0, x), None, 1)
    _, hard = view.slope(lambda values: values.square().sum(), generator)
    with smooth_twins():
        _, smooth = view.slope(lambda values: values.square().sum(), generator)
    assert float(hard.norm()) == 0.0
    assert float(smooth.norm()) > 0.0


def test_pooling_without_a_twin_is_refused() -> None:
    with smooth_twins(), pytest.raises(FieldError, match="has no smooth twin"):
        functional.max_pool2d(torch.zeros(1, 1, 5, 5), 2, ceil_mode=True)
