"""Train a model from beginning to end: weights, card and a checkpoint to resume from."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import nn

from attribound.certification.arguments import look_at
from attribound.data import Dataset, labels_beyond
from attribound.errors import ArgumentError
from attribound.files import check_target, write_whole
from attribound.models import Denoiser
from attribound.noise import Gaussian, Noise
from attribound.progress import Stages
from attribound.rounding import percent
from attribound.training.base import Attacking, Objective
from attribound.training.denoise import Denoise, measure_denoising
from attribound.training.loop import Report, accuracy, attacked_accuracy, fit
from attribound.training.phases import Phase
from attribound.training.schedule import Schedule


def train(
    model: nn.Module,
    architecture: str,
    data: Dataset,
    test: Dataset,
    objective: Objective,
    schedule: Schedule,
    out: Path,
    *,
    then: Sequence[Phase] = (),
    noise: Noise | None = None,
    patience: int | None = None,
    start: str | None = None,
    command: str = "",
    report: Report = lambda epoch, loss: None,
    progress: Stages = lambda what, done, total: None,
) -> dict[str, Any]:
    """Train, store `out` (safetensors) and its card `out`.json, and return the card.

    Args:
        model: trained in place.
        architecture: its name.
        data: what it learns from.
        test: what it is measured on.
        objective: the loss.
        schedule: how long and how fast.
        out: file of the weights; `out`.checkpoint holds the state of an unfinished training.
        then: further phases, each from where the one before ended.
        noise: law under which the accuracy is measured too; default Gaussian 0.25.
        patience: stop after this many epochs without a smaller loss, counted from where this call began.
        start: name of the weights that the model came with, for the card.
        command: what the user typed, for the card.
        report: called after each epoch.
        progress: called after each step.
    """
    phases = [Phase(objective, schedule), *then]
    checkpoints = [_checkpoint(out, number) for number in range(len(phases))]
    _check(model, data, test, phases, out, patience)
    for file in (out, out.with_suffix(".json"), *checkpoints):
        check_target(file)
    for phase, checkpoint in zip(phases, checkpoints, strict=True):
        fit(model, data, phase.objective, phase.schedule, _patient(report, patience), checkpoint, progress)
    named = {"architecture": architecture, "start": start, "command": command}
    card = _card(model, data, test, phases, noise or Gaussian(0.25), named)
    write_whole(out.with_suffix(".json"), json.dumps(card, indent=1) + "\n")
    write_whole(out, save({name: value.contiguous() for name, value in model.state_dict().items()}))
    for checkpoint in checkpoints:
        checkpoint.unlink(missing_ok=True)
    return card


def _card(
    model: nn.Module, data: Dataset, test: Dataset, phases: list[Phase], noise: Noise, named: dict[str, str | None]
) -> dict[str, Any]:
    """What is said about a trained model; `named`: architecture, start and command as the user knows them."""
    return {
        "architecture": named["architecture"],
        "data": data.name,
        "training_inputs": len(data),
        **({} if named["start"] is None else {"start": named["start"]}),
        **_described(phases[-1]),
        **({"before": [_described(phase) for phase in phases[:-1]]} if len(phases) > 1 else {}),
        "command": named["command"],
        **_figures(model, test, phases[-1].objective, noise),
        **({"test_is_training": True} if test is data else {}),
        **({"features": list(data.features)} if data.features else {}),
        "date": datetime.now(UTC).date().isoformat(),
    }


def _checkpoint(out: Path, number: int) -> Path:
    """One file per phase: that of a finished phase holds the weights that the next one starts from."""
    return out.with_name(f"{out.name}.checkpoint{number + 1 if number else ''}")


def _described(phase: Phase) -> dict[str, Any]:
    return {"objective": repr(phase.objective), "schedule": asdict(phase.schedule)}


def summary(card: dict[str, Any]) -> str:
    """What a card says of the test data, in one line."""
    learnt = ", which it learnt from" if card.get("test_is_training") else ""
    inputs = f"({card['test_inputs']:,} inputs of {card['test_data']}{learnt})"
    if "psnr" in card:
        return ", ".join(f"{value:.2f} dB at sigma {level}" for level, value in card["psnr"].items()) + f" {inputs}"
    attacked = card.get("test_accuracy_attacked")
    under = "" if attacked is None else f", {percent(attacked, 2)} under the attack of its training"
    return (
        f"accuracy {percent(card['test_accuracy'], 2)}, {percent(card['test_accuracy_noisy'], 2)} under "
        f"{card['noise']['kind']} noise of sigma {card['noise']['sigma']:.3g}{under} {inputs}"
    )


def _check(
    model: nn.Module, data: Dataset, test: Dataset, phases: Sequence[Phase], out: Path, patience: int | None
) -> None:
    """Raise ArgumentError for what cannot be trained, before anything is."""
    for part in (data, test):
        if not len(part):
            raise ArgumentError(f"{part.name} is empty")
    if out.suffix != ".safetensors":
        raise ArgumentError(f"expected --out FILE.safetensors, got {out}")
    if patience is not None and len(phases) > 1:
        raise ArgumentError(f"expected one phase with --patience, got {len(phases)}")
    for phase in phases:
        _check_denoising(model, data, test, phase.objective)
        for part in () if _denoises(phase.objective) else (data, test):
            part.check_labelled("training")
            if beyond := labels_beyond(part, look_at(model.eval(), data.input(0)).classes):
                raise ArgumentError(beyond)


def _check_denoising(model: nn.Module, data: Dataset, test: Dataset, objective: Objective) -> None:
    if isinstance(model, Denoiser) != _denoises(objective):
        raise ArgumentError("--objective denoise trains --arch denoiser, and nothing else does")
    if isinstance(model, Denoiser):
        shape, other = (tuple(one.input(0).shape) for one in (data, test))
        if len(shape) != 3 or shape[0] != 3 or shape[1] != shape[2]:
            raise ArgumentError(f"expected square colour pictures (3, N, N) to denoise, got {shape} in {data.name}")
        if len(other) != 3 or other[0] != 3:
            raise ArgumentError(f"expected colour pictures (3, H, W) to denoise, got {other} in {test.name}")


def _innermost(objective: Objective) -> Objective:
    """The objective, whatever it is wrapped in."""
    while hasattr(objective, "base"):
        objective = objective.base
    return objective


def _denoises(objective: Objective) -> bool:
    return isinstance(_innermost(objective), Denoise)


def _figures(model: nn.Module, test: Dataset, objective: Objective, noise: Noise) -> dict[str, Any]:
    if _denoises(objective):
        return measure_denoising(model, test)
    inner = _innermost(objective)
    attacked = attacked_accuracy(model, test, inner) if isinstance(inner, Attacking) else None
    figures = measure(model, test, noise)
    return figures if attacked is None else {**figures, "test_accuracy_attacked": attacked}


def measure(model: nn.Module, test: Dataset, noise: Noise) -> dict[str, Any]:
    """Accuracy on the test data, clean and under noise."""
    law = noise.law(test.input(0).numel())
    return {
        "test_data": test.name,
        "test_inputs": len(test),
        "test_accuracy": accuracy(model, test),
        "test_accuracy_noisy": accuracy(model, test, noise=noise),
        "noise": {"kind": law.kind, "scale": law.value, "sigma": law.sigma},
    }


def fresh(make: Callable[[], nn.Module], seed: int) -> nn.Module:
    """A model whose initial weights follow from a seed, leaving the global generator as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()


def _patient(report: Report, patience: int | None) -> Report:
    best, waited = float("inf"), 0

    def judge(epoch: int, loss: float) -> bool:
        nonlocal best, waited
        waited = 0 if loss < best else waited + 1
        best = min(best, loss)
        stopped = report(epoch, loss)
        return bool(stopped) or (patience is not None and waited >= patience)

    return judge
