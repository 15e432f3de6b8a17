"""The one training loop."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from attribound import checks as check
from attribound.data import Dataset
from attribound.errors import ArgumentError, AttriboundError
from attribound.fields.base import Model, forward
from attribound.hashes import model_hash
from attribound.noise import Noise
from attribound.training.base import Objective
from attribound.training.checkpoint import load_checkpoint, save_checkpoint

Report = Callable[[int, float], bool | None]
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to train.

    Attributes:
        epochs: passes over the data.
        batch: images per step.
        rate: peak learning rate; it rises for the first 30 % of the steps and falls to zero, both as half a cosine.
        decay: weight decay.
        momentum: of gradient descent (Nesterov), for networks with batch norm; Adam if None.
        seed: seed of the order of the data and of all noise.
    """

    epochs: int = 4
    batch: int = 128
    rate: float = 3e-3
    decay: float = 0.0
    momentum: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("epochs", "batch"):
            check.count(name, getattr(self, name))
        check.positive("rate", self.rate)
        check.non_negative("decay", self.decay)
        if max(self.rate, self.decay) > _FASTEST:
            raise ArgumentError(
                f"expected `rate` and `decay` at most {_FASTEST:g}, got {self.rate:g} and {self.decay:g}"
            )
        if self.momentum is not None:
            check.fraction("momentum", self.momentum)
            check.positive("momentum", self.momentum)

    def rate_at(self, part: float) -> float:
        """The learning rate after this part of all steps."""
        if part < _RISE:
            return self.rate * (_FIRST + (1 - _FIRST) * _half_cosine(part / _RISE))
        return self.rate * (1 - (1 - _LAST) * _half_cosine((part - _RISE) / (1 - _RISE)))


_RISE, _FIRST, _LAST = 0.3, 0.04, 4e-6
_FASTEST = 1e6


def _half_cosine(part: float) -> float:
    return (1 - math.cos(math.pi * part)) / 2


def fit(
    model: nn.Module,
    data: Dataset,
    objective: Objective,
    schedule: Schedule,
    report: Report | None = None,
    checkpoint: Path | None = None,
    progress: Progress = lambda what, done, total: None,
) -> None:
    """Train the model in place.

    Args:
        model: is left in evaluation mode.
        data: training inputs and labels.
        objective: the loss.
        schedule: how long and how fast.
        report: called after each epoch with its number and mean loss; returning True stops the training there.
        checkpoint: file for the state after each epoch. If it exists, training goes on from it and ends with the very
            weights of an uninterrupted run.
        progress: called with (what, steps done, steps in all) of the current epoch.
    """
    generator = torch.Generator().manual_seed(schedule.seed)
    optimizer = _optimizer(model, schedule)
    recipe, done = _recipe(model, data, objective, schedule), 0
    if checkpoint and checkpoint.exists():
        done = load_checkpoint(checkpoint, recipe, model, optimizer, generator)
    model.train()
    for epoch in range(done, schedule.epochs):
        loss = _epoch(model, data, objective, schedule, epoch, optimizer, generator, progress)
        if checkpoint:
            save_checkpoint(checkpoint, recipe, epoch + 1, model, optimizer, generator)
        if report and report(epoch + 1, loss):
            break
    if not all(torch.isfinite(value).all() for value in model.state_dict().values()):
        raise AttriboundError("the weights became NaN or infinite: try a smaller rate")
    model.eval()


def _recipe(model: nn.Module, data: Dataset, objective: Objective, schedule: Schedule) -> str:
    """What a training is: a checkpoint of another one is refused."""
    return f"{objective} {schedule} from {model_hash(model)[:12]} on {data.sha256()[:12]}"


def _optimizer(model: nn.Module, schedule: Schedule) -> torch.optim.Optimizer:
    if schedule.momentum is None:
        return torch.optim.Adam(model.parameters(), weight_decay=schedule.decay)
    return torch.optim.SGD(
        model.parameters(), lr=schedule.rate, momentum=schedule.momentum, weight_decay=schedule.decay, nesterov=True
    )


def _epoch(
    model: nn.Module,
    data: Dataset,
    objective: Objective,
    schedule: Schedule,
    epoch: int,
    optimizer: torch.optim.Optimizer,
    generator: torch.Generator,
    progress: Progress,
) -> float:
    """One pass over the data in random order; returns the mean loss."""
    batches = torch.randperm(len(data), generator=generator).split(schedule.batch)
    total = 0.0
    for step, chosen in enumerate(batches):
        for group in optimizer.param_groups:
            group["lr"] = schedule.rate_at((epoch + step / len(batches)) / schedule.epochs)
        loss = objective.loss(model, *data.batch(chosen), generator)
        value = float(loss.detach())
        if not math.isfinite(value):
            raise AttriboundError(f"the loss became {value} in epoch {epoch + 1}: try a smaller rate")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += value * len(chosen)
        progress(f"epoch {epoch + 1}", step + 1, len(batches))
    return total / len(data)


def accuracy(model: Model, data: Dataset, noise: Noise | None = None, seed: int = 0) -> float:
    """Share of images classified correctly, with one draw of noise each if a law is given."""
    generator = torch.Generator().manual_seed(seed)
    right = 0
    with torch.no_grad():
        for chosen in torch.arange(len(data)).split(512):
            x, y = data.batch(chosen)
            points = x if noise is None else noise.onto(x, generator)
            right += int((forward(model, points).argmax(dim=1) == y).sum())
    return right / len(data)
