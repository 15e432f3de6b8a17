"""Shipped weights: small, with cards, as good as the cards say."""

from dataclasses import asdict
from importlib import resources
from pathlib import Path

import pytest

from attribound.data import open_data
from attribound.errors import ArgumentError
from attribound.models import SHIPPED, card, load_shipped
from attribound.noise import Gaussian
from attribound.training import accuracy, make_phase, read_recipe

MNIST = [name for name in SHIPPED if name.startswith("mnist")]


@pytest.mark.parametrize("name", MNIST)
def test_mnist_models_classify_the_sample_as_well_as_their_cards_say(name) -> None:
    """300 images: a model 2 points below its card's accuracy would rarely come within 4 points."""
    model, stated, data = load_shipped(name), card(name), open_data("mnist-sample")
    assert accuracy(model, data) >= stated["test_accuracy"] - 0.04
    assert accuracy(model, data, Gaussian(stated["noise"]["scale"])) >= stated["test_accuracy_noisy"] - 0.06


FLOORS = {
    "mnist-cnn": 0.985,
    "mnist-cnn-noise": 0.975,
    "mnist-cnn-consistency": 0.975,
    "mnist-cnn-trades": 0.96,
    "mnist-cnn-ig-norm": 0.96,
    "mnist-cnn-igr": 0.96,
    "mnist-cnn-trades-noise": 0.96,
    "cifar10-resnet20": 0.87,
    "cifar10-resnet20-noise": 0.70,
    "cifar10-resnet20-consistency": 0.75,
    "cifar10-resnet20-adversarial": 0.80,
    "cifar10-resnet20-trades": 0.80,
    "cifar10-resnet20-ig-norm": 0.77,
    "cifar10-resnet20-igr": 0.77,
}
NETWORKS = [name for name, architecture in SHIPPED.items() if architecture != "forest"]
ATTACKED = {
    "cifar10-resnet20-adversarial": "cifar10-adversarial",
    "cifar10-resnet20-trades": "cifar10-trades",
    "cifar10-resnet20-ig-norm": "cifar10-ig-norm",
    "cifar10-resnet20-igr": "cifar10-igr",
}
"""Models that were trained under attack by a recipe."""
RECIPES = Path(__file__).parents[2] / "examples" / "recipes"


def test_the_forest_classifies_the_sample_as_well_as_its_card_says() -> None:
    """50 applicants: a forest as good as its card (76 %) falls below 60 % with probability 0.01."""
    model, stated, data = load_shipped("credit-forest"), card("credit-forest"), open_data("credit-sample")
    assert stated["test_accuracy"] >= 0.75
    assert model.feature_names == data.features
    assert accuracy(model, data) >= 0.6
    assert "make_credit.py" in stated["command"]


@pytest.mark.parametrize("name", NETWORKS)
def test_cards(name) -> None:
    stated = card(name)
    assert stated["test_accuracy"] >= FLOORS[name]
    assert stated["test_inputs"] == 10_000
    assert {"data", "objective", "schedule", "command", "date", "test_accuracy_noisy"} <= set(stated)
    assert name in stated["command"]
    load_shipped(name)


@pytest.mark.parametrize(("name", "recipe"), ATTACKED.items())
def test_cards_of_attacked_models_tell_their_recipe(name, recipe) -> None:
    stated = card(name)
    (phase,) = (make_phase(settings) for settings in read_recipe(RECIPES / f"{recipe}.toml"))
    assert stated["objective"] == repr(phase.objective)
    assert stated["schedule"] == asdict(phase.schedule)
    assert f"{recipe}.toml" in stated["command"]
    assert 0.4 < stated["test_accuracy_attacked"] < stated["test_accuracy"]


def test_everything_shipped_is_small() -> None:
    files = [
        *(resources.files("attribound.models") / "weights").iterdir(),
        resources.files("attribound.data") / "mnist-sample.npz",
    ]
    assert sum(len(file.read_bytes()) for file in files) < 15_000_000


def test_unknown_model() -> None:
    with pytest.raises(ArgumentError, match=r"expected a shipped model \(mnist-cnn, mnist-cnn-noise, .*got 'vgg'"):
        load_shipped("vgg")
