"""Phases and recipes: what a file may say, what is refused, and going on in the middle of the second phase."""

import json
from pathlib import Path

import pytest
import torch
from torch import nn

from attribound import cli
from attribound.data import Arrays, open_data
from attribound.errors import ArgumentError
from attribound.models import SmallCNN
from attribound.noise import Gaussian
from attribound.training import (
    Adversarial,
    Augmented,
    Bfloat16,
    FrozenNorm,
    IgNorm,
    Igr,
    Phase,
    Schedule,
    Standard,
    Trades,
    WithNoise,
    attacked_accuracy,
    fresh,
    make_phase,
    read_recipe,
    train,
)

EXAMPLES = Path(__file__).parents[2] / "examples" / "recipes"
RECIPE = """
batch = 50
rise = 0.15

[[phase]]
objective = "trades"
beta = 3
epsilon = 0.25
attack-steps = 2
step-size = 0.125
images = 70

[[phase]]
objective = "igr"
augment = true
norm = "frozen"
bfloat16 = true
one-sided = true
weight = 8
path-steps = 3
epsilon = 0.5
batch = 30
epochs = 1
"""


def recipe(tmp_path, text: str = RECIPE):
    path = tmp_path / "recipe.toml"
    path.write_text(text)
    return path


def test_a_recipe_says_everything(tmp_path) -> None:
    first, second = (make_phase(settings) for settings in read_recipe(recipe(tmp_path)))
    assert first.objective == Trades(beta=3.0, epsilon=0.25, attack_steps=2, step_size=0.125)
    assert first.schedule == Schedule(batch=50, rise=0.15, images=70)
    inner = Igr(Trades(epsilon=0.5), weight=8.0, path_steps=3, one_sided=True)
    assert second.objective == Bfloat16(Augmented(FrozenNorm(inner)))
    assert second.schedule == Schedule(batch=30, rise=0.15, epochs=1)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_example_recipes_are_recipes(path) -> None:
    for settings in read_recipe(path):
        assert make_phase(settings).schedule.images


def test_noise_belongs_to_the_phase() -> None:
    phase = make_phase({"objective": "noise", "noise": "gaussian:0.5"})
    assert phase == Phase(WithNoise(Standard(), Gaussian(0.5)), Schedule(), Gaussian(0.5))


def test_zero_is_not_unset() -> None:
    assert make_phase({"objective": "trades", "beta": 0}).objective == Trades(beta=0.0)
    assert make_phase({"objective": "ig-norm", "entropy-attack": False}).objective == IgNorm()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epsilonn": 1.0}, r"expected a setting \(objective, noise, .*got 'epsilonn'"),
        ({"epsilon": "much", "objective": "trades"}, "expected epsilon to be a number, got 'much'"),
        ({"epsilon": True, "objective": "trades"}, "expected epsilon to be a number, got True"),
        ({"augment": 1}, "expected augment to be true or false, got 1"),
        ({"images": 1.5}, r"expected images to be a whole number, got 1\.5"),
        ({"images": 10**400}, "expected images to be a whole number, got 10000"),
        ({"images": 0}, "expected `images` to be a whole number >= 1, got 0"),
        ({"images": 5, "epochs": 1}, "expected epochs or images, got both"),
        ({"rise": 1.0}, r"expected `rise` in \(0, 1\), got 1"),
        ({"seed": -1}, "expected `seed` to be a whole number >= 0, got -1"),
        ({"norm": "training"}, "expected `norm` mixed or frozen, got 'training'"),
        ({"objective": "adversarial", "attack-steps": 0}, "expected `attack_steps` to be a whole number >= 1, got 0"),
        ({"objective": "adversarial", "path-steps": 3}, "the objective 'adversarial' does not know --path-steps"),
        ({"objective": "trades", "step-size": -1.0}, "expected `step_size` >= 0, got -1"),
        ({"objective": "denoise", "norm": "frozen"}, "the objective 'denoise' draws its own noise"),
    ],
)
def test_bad_settings_are_named(settings, message) -> None:
    with pytest.raises(ArgumentError, match=message):
        make_phase(settings)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("epsilon = ", "expected a recipe in TOML, got .*recipe.toml: Invalid value"),
        ("epsilon = 1", r"expected a table \[\[phase\]\] for each phase in .*recipe.toml"),
        ("phase = 3", r"expected a table \[\[phase\]\]"),
        ("phase = [1]", r"expected a table \[\[phase\]\]"),
    ],
)
def test_bad_recipes_are_named(tmp_path, text, message) -> None:
    with pytest.raises(ArgumentError, match=message):
        read_recipe(recipe(tmp_path, text))


# --- going on


class PowerCutError(Exception):
    """Ends a training in the middle."""


def two_phases(out, seen: list[tuple[str, int]], stop: int | None = None, noted=lambda epoch, loss: None):
    data = open_data("mnist-sample")

    def progress(what: str, done: int, total: int) -> None:
        seen.append((what, done))
        if len(seen) == stop:
            raise PowerCutError

    model = fresh(SmallCNN, 0)
    then = [Phase(Standard(), Schedule(epochs=2, batch=40, momentum=0.9))]
    schedule = Schedule(batch=50, images=420)
    return model, train(
        model, "small-cnn", data, data, Augmented(Standard()), schedule, out, then=then, report=noted, progress=progress
    )


@pytest.mark.parametrize("stop", [2, 8, 12, 20])
def test_a_training_stopped_in_any_phase_ends_with_the_same_weights(tmp_path, monkeypatch, stop) -> None:
    """300 images: phase one has 6 + 3 steps, phase two 8 + 8; every finished step but the last is on disk."""
    monkeypatch.setattr("attribound.training.checkpoint.SECONDS", 0.0)
    whole: list[tuple[str, int]] = []
    losses: list[float] = []
    expected, card = two_phases(tmp_path / "whole.safetensors", whole, noted=lambda _, loss: losses.append(loss))
    assert len(whole) == 6 + 3 + 8 + 8
    seen: list[tuple[str, int]] = []
    with pytest.raises(PowerCutError):
        two_phases(tmp_path / "cut.safetensors", seen, stop)
    rest: list[tuple[str, int]] = []
    later: list[float] = []
    resumed, again = two_phases(tmp_path / "cut.safetensors", rest, noted=lambda _, loss: later.append(loss))
    assert rest == whole[stop - 1 :], "only the step that was not saved is repeated"
    assert later == losses[-len(later) :], "the mean loss of the pass counts what was done before"
    assert all(torch.equal(a, b) for a, b in zip(expected.parameters(), resumed.parameters(), strict=True))
    assert again == card
    assert sorted(path.name for path in tmp_path.glob("cut*")) == ["cut.json", "cut.safetensors"]


def test_the_card_tells_the_phases(tmp_path) -> None:
    _, card = two_phases(tmp_path / "m.safetensors", [])
    assert card["objective"] == "Standard()"
    assert card["before"][0]["objective"] == "Augmented(base=Standard(), shift=4)"
    assert card["before"][0]["schedule"]["images"] == 420


def test_patience_is_for_one_phase(tmp_path) -> None:
    data = open_data("mnist-sample")
    with pytest.raises(ArgumentError, match="expected one phase with --patience, got 2"):
        train(
            fresh(SmallCNN, 0),
            "small-cnn",
            data,
            data,
            Standard(),
            Schedule(),
            tmp_path / "m.safetensors",
            then=[Phase(Standard(), Schedule())],
            patience=1,
        )


# --- accuracy under the attack of the training


def line() -> tuple[nn.Module, Arrays]:
    """Class 1 to the right of zero; points at distances 0.1, 0.2, ... 1.0 on the right side, one on the wrong side."""
    model = nn.Linear(2, 2).eval()
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[-1.0, 0.0], [1.0, 0.0]]))
        model.bias.zero_()
    points = torch.zeros(11, 2)
    points[:10, 0], points[10, 0] = torch.arange(1, 11) / 10, -0.5
    return model, Arrays(points, torch.ones(11, dtype=torch.long))


def test_attacked_accuracy_of_a_line() -> None:
    """An attack of 0.55 reaches the six next to the line, and the wrong one stays wrong: 5 of 11 are left."""
    model, data = line()
    attack = Adversarial(epsilon=0.55, attack_steps=10, step_size=0.3)
    assert attacked_accuracy(model, data, attack) == pytest.approx(5 / 11)
    assert attacked_accuracy(model, data, Adversarial(epsilon=0.0)) == pytest.approx(10 / 11)


def test_cards_say_it_for_objectives_that_attack(tmp_path) -> None:
    model, data = line()
    objective = Bfloat16(FrozenNorm(Adversarial(epsilon=0.55, attack_steps=10, step_size=0.3)))
    schedule = Schedule(epochs=1, rate=1e-9)
    card = train(model, "line", data, data, objective, schedule, tmp_path / "m.safetensors", start="the line")
    assert card["test_accuracy_attacked"] == pytest.approx(5 / 11)
    assert card["start"] == "the line"
    card = train(model, "line", data, data, Standard(), schedule, tmp_path / "n.safetensors")
    assert "test_accuracy_attacked" not in card


# --- as typed


def test_a_recipe_at_the_command_line(tmp_path, capsys) -> None:
    out, text = tmp_path / "m.safetensors", 'batch = 50\n[[phase]]\nimages = 60\n[[phase]]\nobjective="adversarial"\n'
    flags = ["--rate", "0.001", "--bfloat16"]
    path = recipe(tmp_path, text + "attack-steps = 1\nimages = 10\n")
    assert cli.run(["train", "--recipe", str(path), *flags, "--out", str(out)]) == 0
    assert "under the attack of its training" in capsys.readouterr().out
    card = json.loads(out.with_suffix(".json").read_text())
    assert card["objective"] == "Bfloat16(base=Adversarial(epsilon=1.0, attack_steps=1, step_size=0.5))"
    assert card["before"][0]["objective"] == "Bfloat16(base=Standard())"
    assert [phase["schedule"]["rate"] for phase in (card, *card["before"])] == [0.001, 0.001]


@pytest.mark.parametrize(
    ("text", "flags", "message"),
    [
        ("[[phase]]\nrate = 1e-3\n", ["--rate", "0.1"], "the recipe sets rate: leave out --rate"),
        ("[[phase]]\nepoch = 1\n", [], "got 'epoch'"),
        ("\x00", [], "expected a recipe in TOML"),
    ],
)
def test_a_bad_recipe_is_one_line(tmp_path, capsys, text, flags, message) -> None:
    path, out = recipe(tmp_path, text), tmp_path / "m.safetensors"
    assert cli.run(["train", "--recipe", str(path), *flags, "--out", str(out)]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert not out.exists()
