"""What people pass: class names, scalars of any kind, empty batches, pictures with other channels."""

from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

import attribound as ab
from attribound.certification.arguments import class_names, repeated_channels
from attribound.errors import ArgumentError, FieldError
from attribound.models import Fixed

NOISE = ab.Gaussian(0.5)
X = torch.tensor([0.1, -0.3, 0.2, 0.5])


def model(**attributes) -> nn.Module:
    torch.manual_seed(0)
    made = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2)).eval()
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def field(**attributes) -> ab.Field:
    return ab.Unit(ab.Saliency(model(**attributes)))


class Config:
    def __init__(self) -> None:
        self.id2label = {0: "malignant", 1: "benign"}


def test_a_target_may_be_a_name() -> None:
    named = ab.certify(field(), X, "benign", noise=NOISE, samples=32, classes=["malignant", "benign"])
    assert named.target == 1
    assert ab.certify(field(classes=("malignant", "benign")), X, target="benign", noise=NOISE, samples=32).target == 1
    assert ab.certify(field(config=Config()), X, target="benign", noise=NOISE, samples=32).target == 1
    several = ab.certify_batch(field(config=Config()), X.expand(2, 4), ["malignant", 1], noise=NOISE, samples=32)
    assert [one.target for one in several] == [0, 1]
    same = ab.certify_batch(field(config=Config()), X.expand(2, 4), "malignant", noise=NOISE, samples=32)
    assert [one.target for one in same] == [0, 0]
    options = {"noise": NOISE, "epsilon": 0.1, "steps": 2, "samples": 4, "rescore_samples": 16}
    assert ab.attack(field(config=Config()), X, target="benign", **options).epsilon == 0.1


def test_names_that_nobody_has_are_refused_with_those_that_there_are() -> None:
    with pytest.raises(ArgumentError, match=r"got 'benign': to name classes, say classes="):
        ab.certify(field(), X, "benign", noise=NOISE)
    with pytest.raises(ArgumentError, match=r"to be a class \(malignant, benign\), no class is called 'benin'"):
        ab.certify(field(config=Config()), X, "benin", noise=NOISE)
    with pytest.raises(ArgumentError, match="several classes are called 'a'"):
        ab.certify(field(), X, "a", noise=NOISE, classes=["a", "a"])


def test_names_are_found_behind_wrappers() -> None:
    assert class_names(Fixed(model(classes=["a", "b"]))) == ("a", "b")
    assert class_names(model()) == ()
    assert class_names(model(classes="ab")) == ()


def test_numpy_and_torch_scalars_anywhere() -> None:
    kinds = {"samples": 64, "alpha": 0.001, "seed": 3, "item": 2}
    plain = ab.certify(field(), X, 1, noise=ab.Gaussian(0.5), reasons=2, **kinds)
    for whole, real in ((np.int64, np.float64), (torch.tensor, partial(torch.tensor, dtype=torch.float64))):
        asked = {name: whole(value) if isinstance(value, int) else real(value) for name, value in kinds.items()}
        again = ab.certify(field(), X, whole(1), noise=ab.Gaussian(real(0.5)), reasons=whole(2), **asked)
        assert again.record.facts == plain.record.facts
        assert again.cosine(real(0.25)) == plain.cosine(0.25)
        assert again.max_epsilon(real(0.5)) == plain.max_epsilon(0.5)
        assert again.top_k(whole(2), real(0.25)) == plain.top_k(2, 0.25)
        assert again.reasons(whole(2)) == plain.reasons(2)
        found = ab.attack(
            field(),
            X.numpy(),
            whole(1),
            noise=NOISE,
            epsilon=real(0.5),
            steps=whole(2),
            samples=whole(4),
            seed=whole(1),
        )
        assert found.epsilon == 0.5
    assert plain.noise == "gaussian:0.5"


def test_an_empty_batch_gives_an_empty_list() -> None:
    assert ab.certify_batch(field(), torch.zeros(0, 4), noise=NOISE) == []


class Rgb(nn.Module):
    """Takes three channels; with `normalised` it makes three of one, as broadcasting does unasked."""

    def __init__(self, normalised: bool) -> None:
        super().__init__()
        self.normalised, self.conv, self.head = normalised, nn.Conv2d(3, 2, 3), nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x - torch.tensor([0.4, 0.5, 0.6])[:, None, None] if self.normalised else x
        return self.head(self.conv(x).mean(dim=(2, 3)))


def test_pictures_with_other_channels_are_refused_or_said() -> None:
    with pytest.raises(FieldError, match="pictures have 1 channel, its first convolution takes 3: read them with 3"):
        ab.certify(ab.Unit(ab.Saliency(Rgb(normalised=False).eval())), torch.rand(1, 6, 6), noise=NOISE)
    assert "the model repeats them" in repeated_channels(Rgb(normalised=True), (1, 6, 6))
    assert repeated_channels(Rgb(normalised=True), (3, 6, 6)) == ""
    assert repeated_channels(model(), (4,)) == ""


def test_a_regression_score_is_explained_as_class_one_whatever_its_sign() -> None:
    torch.manual_seed(0)
    score = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1)).eval()
    for sign in (1.0, -1.0):
        x = (X * sign).requires_grad_(True)
        (slope,) = torch.autograd.grad(score(x[None])[0, 0], x)
        found = ab.certify(ab.Unit(ab.Saliency(score)), x.detach(), 1, noise=ab.Gaussian(1e-4), samples=32)
        assert found.attribution == pytest.approx((slope / slope.norm()).numpy(), abs=1e-3)
