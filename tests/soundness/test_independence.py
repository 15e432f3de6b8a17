"""Nothing outside reaches into the numbers: autocast, kinds of targets, one thread or two."""

import captum.attr
import numpy as np
import pytest
import torch

from attribound.certification.certifier import certify
from attribound.changes import HiddenWord
from attribound.errors import ArgumentError, FieldError
from attribound.fields import Clip, Saliency, Unit
from attribound.fields.captum import Captum
from attribound.noise import Gaussian
from attribound.tolerances.ask import tolerance
from tests.problems import Linear


def test_autocast_does_not_reach_the_second_moments() -> None:
    """bfloat16 products would lose up to 0.4 % of the eigenvalue, which is exactly 1.0038^2 here."""

    def model(y):
        return torch.stack([1.0038 * y[:, 0].abs() + 0 * y[:, 1], y[:, 1]], dim=1)

    field, x = Clip(Saliency(model), 1.01), torch.zeros(2)
    plain = certify(field, x, 0, noise=Gaussian(1.0), samples=4096, seed=0)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cast = certify(field, x, 0, noise=Gaussian(1.0), samples=4096, seed=0)
    assert cast.eigenvalue_upper == pytest.approx(plain.eigenvalue_upper, rel=1e-6)


@pytest.mark.parametrize("target", [torch.tensor(1), torch.tensor([1]), 1, np.int64(1)], ids=str)
def test_any_whole_number_is_a_target(target) -> None:
    field = Unit(Saliency(Linear(torch.ones(4))))
    assert certify(field, torch.zeros(4), target, noise=Gaussian(1.0), samples=16).target == 1


@pytest.mark.parametrize("target", [-1, 2, 0.7, [0.7], [1], True, "cat"], ids=str)
def test_other_targets_are_refused(target) -> None:
    field = Unit(Captum(captum.attr.Saliency(Linear(torch.ones(4)))))
    with pytest.raises(ArgumentError, match=r"expected `target` in 0\.\.1, got"):
        certify(field, torch.zeros(4), target, noise=Gaussian(1.0), samples=16)


class Unsteady(torch.autograd.Function):
    """The identity, with a gradient that is multiplied by random numbers."""

    @staticmethod
    def forward(ctx, y):
        return y.clone()

    @staticmethod
    def backward(ctx, slope):
        return slope * (1 + 0.3 * torch.randn_like(slope))


def test_a_random_gradient_is_not_hidden_by_the_seed_of_a_method_without_randomness() -> None:
    """The same seed before the same call gave the same map: one draw of each alternative passed as an exact list."""

    def model(y):
        return torch.stack([(Unsteady.apply(y.flatten(1)) ** 2).sum(dim=1), y.flatten(1)[:, 0]], dim=1)

    field = Unit(Captum(captum.attr.Saliency(model)))
    with pytest.raises(FieldError, match="gave another map or output when the same call was made again"):
        certify(field, torch.ones(4), 0, noise=Gaussian(1.0), samples=64, seed=0)
    with pytest.raises(FieldError, match="gave another map or output when the same call was made again"):
        tolerance(field, torch.ones(2, 4), [HiddenWord()], target=0)
