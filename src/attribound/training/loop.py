"""The one training loop."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

import torch
from torch import Tensor, nn

from attribound.data import Dataset
from attribound.errors import AttriboundError
from attribound.fields.base import Model, forward
from attribound.hashes import model_hash
from attribound.noise import Noise
from attribound.progress import Stages
from attribound.training.base import Attacking, Objective
from attribound.training.checkpoint import Checkpoint, Place
from attribound.training.schedule import Schedule

Report = Callable[[int, float], bool | None]


def fit(
    model: nn.Module,
    data: Dataset,
    objective: Objective,
    schedule: Schedule,
    report: Report | None = None,
    checkpoint: Path | None = None,
    progress: Stages = lambda what, done, total: None,
) -> None:
    """Train the model in place.

    Args:
        model: is left in evaluation mode.
        data: training inputs and labels.
        objective: the loss.
        schedule: how long and how fast.
        report: called after each epoch with its number and mean loss; returning True stops the training there.
        checkpoint: file for the state, saved after each epoch and every half minute. If it exists, training goes on
            from it and ends with exactly the weights of an uninterrupted run.
        progress: called with (what, steps done, steps in all) of the current epoch.
    """
    generator = torch.Generator().manual_seed(schedule.seed)
    optimizer = _optimizer(model, schedule)
    file, place = None, Place()
    if checkpoint is not None:
        recipe = _recipe(model, data, objective, schedule)
        file = Checkpoint(checkpoint, recipe, model=model, optimizer=optimizer, generator=generator)
        place = file.load()
    loop = _Loop(model, data, objective, schedule, optimizer, generator, file, progress)
    model.train()
    for epoch in range(place.epoch, math.ceil(schedule.seen(len(data)) / len(data))):
        loss = loop.epoch(place if len(place.order) else loop.begin(epoch))
        place = Place(epoch + 1)
        if file is not None:
            file.save(place)
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


@final
@dataclass(frozen=True)
class _Loop:
    """One training: what is trained, on what, with what."""

    model: nn.Module
    data: Dataset
    objective: Objective
    schedule: Schedule
    optimizer: torch.optim.Optimizer
    generator: torch.Generator
    file: Checkpoint | None
    progress: Stages

    def begin(self, epoch: int) -> Place:
        """The beginning of a pass over the data, in random order."""
        size = len(self.data)
        left = self.schedule.seen(size) - epoch * size
        return Place(epoch, torch.randperm(size, generator=self.generator)[:left])

    def epoch(self, place: Place) -> float:
        """The rest of a pass over the data; returns the mean loss of the pass."""
        batches = place.order.split(self.schedule.batch)
        for step in range(place.steps, len(batches)):
            for group in self.optimizer.param_groups:
                group["lr"] = self.schedule.rate_at(self.schedule.part(len(self.data), place.epoch, step))
            value = self._step(batches[step], place.epoch)
            place = replace(place, steps=step + 1, loss=place.loss + value * len(batches[step]))
            self.progress(f"epoch {place.epoch + 1}", step + 1, len(batches))
            if self.file is not None:
                self.file.save_if_due(place)
        return place.loss / len(place.order)

    def _step(self, chosen: Tensor, epoch: int) -> float:
        loss = self.objective.loss(self.model, *self.data.batch(chosen), self.generator)
        value = float(loss.detach())
        if not math.isfinite(value):
            raise AttriboundError(f"the loss became {value} in epoch {epoch + 1}: try a smaller rate")
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return value


def accuracy(model: Model, data: Dataset, noise: Noise | None = None, seed: int = 0) -> float:
    """Share of images classified correctly, with one draw of noise each if a law is given."""
    return _right(model, data, seed, lambda x, y, generator: x if noise is None else noise.onto(x, generator))


def attacked_accuracy(model: nn.Module, data: Dataset, objective: Attacking, seed: int = 0) -> float:
    """Share of images still classified correctly after the attack of an objective."""
    return _right(model, data, seed, lambda x, y, generator: objective.attack(model, x, y, generator))


def _right(
    model: Model, data: Dataset, seed: int, change: Callable[[Tensor, Tensor, torch.Generator], Tensor]
) -> float:
    """Share of images classified correctly after a change of each batch."""
    generator = torch.Generator().manual_seed(seed)
    right = 0
    for chosen in torch.arange(len(data)).split(512):
        x, y = data.batch(chosen)
        points = change(x, y, generator)
        with torch.no_grad():
            right += int((forward(model, points).argmax(dim=1) == y).sum())
    return right / len(data)
