"""Tuning: more noise certifies more and costs accuracy; the recommendation follows."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from attribound import cli
from attribound.data import open_data
from attribound.errors import ArgumentError
from attribound.fields import make_field
from attribound.tuning import SIGMAS, Level, _advise, _Floor, _gains, _scan, tune


def level(sigma: float, accuracy: float, epsilon: float) -> Level:
    return Level(f"gaussian:{sigma}", sigma, accuracy, epsilon, None, 0.9, 0.5)


FLOOR = _Floor(0.93, 0.5)
LEVELS = [level(0.1, 0.97, 0.1), level(0.25, 0.96, 0.3), level(0.5, 0.94, 0.6), level(1.0, 0.5, 1.0)]


@pytest.mark.parametrize(
    ("levels", "epsilon", "sigma", "words"),
    [
        (LEVELS, None, 0.5, "largest certified epsilon"),
        (LEVELS, 0.2, 0.25, "smallest level whose median certified epsilon reaches 0.2"),
        (LEVELS, 0.9, None, "epsilon 0.9 is out of reach: 0.599 is the best"),
        ([level(0.25, 0.3, 0.4)], None, None, "needs training with noise first"),
        ([level(0.25, 0.97, 0.0)], None, None, "needs training with noise first"),
        ([replace(level(25.0, 0.97, 9.0), fidelity=0.06)], None, None, "and the fidelity at 0.5 or more and certifies"),
    ],
)
def test_advice(levels, epsilon, sigma, words) -> None:
    chosen, advice = _advise(levels, 0.98, epsilon, FLOOR)
    assert (chosen.sigma if chosen else None) == sigma
    assert words in advice


def test_labels_that_are_not_the_models_are_suspected() -> None:
    chosen, advice = _advise(LEVELS, 0.0, None, FLOOR)
    assert chosen is None
    assert "are the labels the numbers of its classes?" in advice


def test_of_two_at_the_smallest_level_the_more_accurate_is_recommended() -> None:
    better = replace(level(0.25, 0.97, 0.25), denoised=True)
    assert _advise([*LEVELS[:2], better, *LEVELS[2:]], 0.98, 0.2, FLOOR)[0] is better


@pytest.mark.parametrize(("bearable", "smallest"), [(0.1, 0.05), (0.02, 0.0125), (0.0, 0.003125)])
def test_smaller_levels_are_tried_until_one_will_do(bearable: float, smallest: float) -> None:
    def look(sigma: float) -> list[Level]:
        return [level(sigma, 0.97 if sigma <= bearable else 0.3, sigma)]

    found = [one.sigma for one in _scan(look, FLOOR, None, lambda *step: None)]
    assert found == sorted(found)
    assert found[0] == smallest
    assert set(SIGMAS) <= set(found)
    assert [one.sigma for one in _scan(look, FLOOR, (0.5, 0.25), lambda *step: None)] == [0.25, 0.5], "as asked for"


@pytest.mark.parametrize(("inputs", "lost", "bears"), [(10, 1, True), (10, 2, False), (100, 5, True), (100, 6, False)])
def test_one_input_of_ten_rejects_no_level(inputs: int, lost: int, bears: bool) -> None:
    floor = _Floor.of(0.9, inputs, fidelity=0.5)
    assert floor.bears(level(0.05, 0.9 - lost / inputs, 0.1)) is bears


def test_a_model_that_never_saw_noise_is_not_sent_to_training(standard_model, monkeypatch) -> None:
    """Levels from 0.1 up are too much for it when its accuracy under them is bad: a smaller one is recommended."""
    monkeypatch.setattr(
        "attribound.tuning.accuracy",
        lambda model, data, noise=None: 0.9 if noise is None or noise.law(784).sigma < 0.06 else 0.2,
    )
    outcome = tune(make_field(standard_model), open_data("mnist-sample"), items=1, samples=64)
    assert outcome.recommended is not None
    assert outcome.recommended.sigma == pytest.approx(0.05)


def test_scan_of_a_model_trained_with_noise(noise_model) -> None:
    steps: list[tuple[str, int, int]] = []
    outcome = tune(
        make_field(noise_model),
        open_data("mnist-sample"),
        sigmas=(0.5, 0.25),
        epsilon=0.3,
        items=3,
        samples=1024,
        progress=lambda *step: steps.append(step),
    )
    low, high = outcome.levels
    assert (low.sigma, high.sigma) == (0.25, 0.5)
    assert low.accuracy > high.accuracy > 0.9
    assert 0 < low.max_epsilon < high.max_epsilon
    assert high.certified == 1.0
    assert outcome.recommended is not None
    assert not outcome.assumed
    assert steps[-1] == ("levels", 2, 2)


def test_a_denoiser_is_scanned_beside_the_plain_model(capsys, tmp_path) -> None:
    """CIFAR-10's shipped denoiser before the shipped model that never saw noise, on photographs of the same size."""
    images = torch.rand(6, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    np.savez(tmp_path / "six.npz", images=images.numpy(), labels=np.arange(6))
    flags = ["--model", "cifar10-resnet20", "--data", f"npz:{tmp_path}/six.npz", "--level", "0.25", "--items", "1"]
    out = tmp_path / "scan.json"
    code = cli.run(["tune", *flags, "--samples", "32", "--denoiser", "denoiser-cifar10", "--out", str(out)])
    assert code == 0
    plain, behind = json.loads(out.read_text())["levels"]
    assert (plain["noise"], plain["denoised"]) == ("gaussian:0.25", False)
    assert (behind["noise"], behind["denoised"]) == ("gaussian:0.25", True)
    assert behind["fidelity"] != plain["fidelity"]
    assert "the denoiser" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (0.2, 0.6, "at gaussian:0.25 the denoiser takes the accuracy under noise from 20.0 % to 60.0 %"),
        (0.6, 0.5, "from 60.0 % to 50.0 %, epsilon from 0.100 to 0.299, the class's radius from 0.500 to 0.500"),
    ],
)
def test_what_a_denoiser_gains_is_said(before, after, words) -> None:
    levels = [level(0.25, before, 0.1), replace(level(0.25, after, 0.3), denoised=True)]
    assert words in _gains(levels)[0]
    assert _gains(levels[:1]) == []


def test_unknown_noise(noise_model) -> None:
    with pytest.raises(ArgumentError, match="expected noise uniform or gaussian, got 'laplace'"):
        tune(make_field(noise_model), open_data("mnist-sample"), kind="laplace")


def test_command(tmp_path, capsys) -> None:
    flags = ["tune", "--model", "mnist-cnn-noise", "--level", "0.5", "--items", "1", "--samples", "256"]
    out = tmp_path / "scan.json"
    assert cli.run([*flags, "--noise", "uniform", "--out", str(out), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads(out.read_text())
    assert printed["levels"][0]["noise"] == "uniform:14.0178"
    assert out.with_suffix(".png").stat().st_size > 5_000
    assert cli.run([*flags, "--epsilon", "0.1"]) == 0
    assert "Recommended: gaussian:0.5" in capsys.readouterr().out
    assert cli.run(["tune", "--level", "-1"]) == 2
    assert "expected every --level > 0, got -1" in capsys.readouterr().err
