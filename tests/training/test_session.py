"""Training from beginning to end: names, weights, cards, augmentation."""

import json

import pytest
import torch

from attribound.data import open_data
from attribound.errors import ArgumentError
from attribound.models import SmallCNN, load_model
from attribound.noise import Gaussian
from attribound.training import (
    Augmented,
    Consistency,
    Igr,
    Schedule,
    Standard,
    Trades,
    WithNoise,
    fresh,
    make_objective,
    train,
)

NOISE = Gaussian(0.5)


@pytest.mark.parametrize(
    ("name", "noise", "options", "expected"),
    [
        ("standard", None, {}, Standard()),
        ("noise", NOISE, {}, WithNoise(Standard(), NOISE)),
        ("consistency", NOISE, {"beta": 4.0}, Consistency(NOISE, 4.0)),
        ("trades", None, {"beta": 2.0, "attacked_cross_entropy": True}, Trades(2.0, attacked_cross_entropy=True)),
        ("igr", None, {"epsilon": 0.5, "weight": 3.0}, Igr(Trades(epsilon=0.5), weight=3.0)),
        ("trades", NOISE, {"weight": None}, WithNoise(Trades(), NOISE)),
        ("standard", None, {"augment": True}, Augmented(Standard())),
    ],
)
def test_objectives_by_name(name, noise, options, expected) -> None:
    assert make_objective(name, noise, **options) == expected


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("magic", {}, r"expected an objective \(standard, .*got 'magic'"),
        ("noise", {}, "the objective 'noise' needs --noise"),
        ("consistency", {}, "the objective 'consistency' needs --noise"),
        ("standard", {"beta": 1.0}, "the objective 'standard' does not know --beta"),
    ],
)
def test_bad_objectives(name, options, message) -> None:
    with pytest.raises(ArgumentError, match=message):
        make_objective(name, **options)


def test_augmentation_shifts_and_mirrors_whole_images() -> None:
    """Each moved image is one of the 2 x 81 crops of its padded original."""
    images = torch.rand(40, 2, 6, 6, generator=torch.Generator().manual_seed(0))
    moved = Augmented(Standard(), shift=4).moved(images, torch.Generator().manual_seed(1))
    padded = torch.nn.functional.pad(images, (4,) * 4)
    mirrored = 0
    for image, original in zip(moved, padded, strict=True):
        crops = [original[:, i : i + 6, j : j + 6] for i in range(9) for j in range(9)]
        plain = any(torch.equal(image, crop) for crop in crops)
        mirror = any(torch.equal(image, crop.flip(2)) for crop in crops)
        assert plain or mirror
        mirrored += mirror
    assert 8 <= mirrored <= 32  # Binomial(40, 1/2): a fair coin leaves this with probability 1e-4


def make(out, **options):
    data = open_data("mnist-sample")
    model = fresh(SmallCNN, 0)
    return train(model, "small-cnn", data, data, Standard(), Schedule(epochs=3, batch=50), out, **options)


def test_train_writes_weights_and_card(tmp_path) -> None:
    out = tmp_path / "deep" / "m.safetensors"
    card = make(out, noise=NOISE, command="attribound train")
    assert json.loads(out.with_suffix(".json").read_text()) == card
    assert card["test_accuracy"] > 0.5
    assert card["noise"]["sigma"] == 0.5
    assert sorted(path.name for path in out.parent.iterdir()) == ["m.json", "m.safetensors"]
    assert load_model(str(out), "small-cnn")(torch.zeros(1, 1, 28, 28)).shape == (1, 10)


def test_patience_stops_when_the_loss_no_longer_falls(tmp_path, monkeypatch) -> None:
    losses = iter([1.0, 0.5, 0.6, 0.7, 0.1])
    seen: list[float] = []
    monkeypatch.setattr("attribound.training.loop._Loop.epoch", lambda *_: next(losses))
    data = open_data("mnist-sample")
    schedule = Schedule(epochs=5)
    train(
        fresh(SmallCNN, 0),
        "small-cnn",
        data,
        data,
        Standard(),
        schedule,
        tmp_path / "m.safetensors",
        patience=2,
        report=lambda epoch, loss: seen.append(loss),
    )
    assert seen == [1.0, 0.5, 0.6, 0.7]


def test_the_name_of_the_weights_is_checked(tmp_path) -> None:
    with pytest.raises(ArgumentError, match=r"expected --out FILE\.safetensors, got"):
        make(tmp_path / "m.pt")


def test_fresh_models_follow_their_seed_and_leave_the_global_generator_alone() -> None:
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    one, two, other = fresh(SmallCNN, 1), fresh(SmallCNN, 1), fresh(SmallCNN, 2)
    assert torch.equal(torch.rand(1), expected)
    weights = [model.layers[0].weight for model in (one, two, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
