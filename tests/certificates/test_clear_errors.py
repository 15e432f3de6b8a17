"""Mistakes that torch and Python answer with riddles are answered with one clear line."""

import copy

import pytest
import torch
from torch import nn

import attribound as ab
from attribound.errors import ArgumentError, FieldError
from attribound.models import SmallCNN, load_model

NOISE = ab.Gaussian(0.5)


@pytest.fixture(scope="module")
def model() -> nn.Module:
    return load_model("mnist-cnn-noise")


@pytest.fixture(scope="module")
def x() -> torch.Tensor:
    return torch.rand(1, 28, 28, generator=torch.Generator().manual_seed(0))


def certify(model: nn.Module, x: torch.Tensor) -> ab.Certificate:
    return ab.certify(ab.Unit(ab.Saliency(model)), x, noise=NOISE, samples=16)


def test_another_precision_than_the_models(model, x) -> None:
    with pytest.raises(
        FieldError, match=r"it is float64 and the model float32: pass x\.to\(torch\.float32\), or model"
    ):
        certify(model, x.double())
    with pytest.raises(FieldError, match=r"it is float32 and the model float64: pass x\.to\(torch\.float64\)"):
        certify(SmallCNN().double().eval(), x)


def test_pictures_of_another_size(model, x) -> None:
    with pytest.raises(
        FieldError, match=r"has 32 x 30 pixels, the model takes 28 x 28: resize it \(folder:DIR\?size=28\)"
    ):
        certify(model, torch.rand(1, 30, 32))


def test_one_picture_in_place_of_a_batch(model, x) -> None:
    field = ab.Unit(ab.Saliency(model))
    with pytest.raises(ArgumentError, match=r"got one input of shape \(1, 28, 28\): use certify, or x\[None\]"):
        ab.certify_batch(field, x, noise=NOISE, samples=16)
    assert len(ab.certify_batch(field, x[None], noise=NOISE, samples=16)) == 1


def test_inference_mode(model, x) -> None:
    with torch.inference_mode():
        frozen, weights = x.clone(), SmallCNN().eval()
        with pytest.raises(ArgumentError, match=r"expected a call outside torch\.inference_mode\(\)"):
            certify(model, x)
    assert certify(model, frozen).max_epsilon(0.8) == certify(model, x).max_epsilon(0.8)
    with pytest.raises(FieldError, match=r"expected a model made outside torch\.inference_mode\(\).*copy\.deepcopy"):
        certify(weights, x)
    certify(copy.deepcopy(weights), x)


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        (0.1, r"got float; did you mean Gaussian\(0\.1\)\?"),
        (2, r"did you mean Gaussian\(2\)\?"),
        ("gaussian", "got str$"),
    ],
)
def test_a_number_is_no_noise(noise, message, model, x) -> None:
    with pytest.raises(ArgumentError, match=f"expected `noise` UniformBall or Gaussian, .*{message}"):
        ab.certify(ab.Unit(ab.Saliency(model)), x, noise=noise)


class Complete(ab.Field):
    """The input itself as its map."""

    name = "own"

    def __init__(self, model: nn.Module) -> None:
        self.model = model

    def explain(self, inputs, target, *, generator=None, create_graph=False):
        return ab.Explanation(inputs)


class WithoutModel(Complete):
    def __init__(self, model: nn.Module) -> None:
        pass


class WithoutName(ab.Field):
    __init__, explain = Complete.__init__, Complete.explain


class WithoutGenerator(Complete):
    def explain(self, inputs, target, *, create_graph=False):
        return ab.Explanation(inputs)


class BareTensor(Complete):
    def explain(self, inputs, target, **others):
        return inputs


class OneMap(Complete):
    def explain(self, inputs, target, **others):
        return ab.Explanation(inputs.mean(dim=0, keepdim=True))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (WithoutModel, r"expected the field WithoutModel to have `model`, the classifier: set self\.model"),
        (WithoutName, "to have `name`, the method's name"),
        (WithoutGenerator, r"generator=None, create_graph=False\): it does not take `generator`"),
        (BareTensor, r"expected BareTensor\.explain to return Explanation\(maps\), got Tensor"),
        (OneMap, r"to return one map per row \(\d+, \.\.\.\), got shape \(1, 1, 28, 28\)"),
    ],
)
def test_own_fields_that_lack_a_part(kind, message, model, x) -> None:
    with pytest.raises(FieldError, match=message):
        ab.certify(ab.Unit(kind(model)), x, noise=NOISE, samples=16)


def test_an_own_field_that_lacks_nothing(model, x) -> None:
    assert ab.certify(ab.Unit(Complete(model)), x, noise=NOISE, samples=64).attribution.shape == (1, 28, 28)
