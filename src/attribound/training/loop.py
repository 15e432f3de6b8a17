"""The one training loop."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from attribound.errors import AttriboundError
from attribound.noise import Noise
from attribound.training.base import Objective


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to train.

    Attributes:
        epochs: passes over the data.
        batch: images per step.
        rate: peak learning rate of the one-cycle schedule.
        decay: weight decay.
        seed: seed of the order of the data and of all noise.
    """

    epochs: int = 4
    batch: int = 128
    rate: float = 3e-3
    decay: float = 0.0
    seed: int = 0


def fit(
    model: nn.Module,
    images: Tensor,
    labels: Tensor,
    objective: Objective,
    schedule: Schedule,
    report: Callable[[int, float], None] | None = None,
) -> None:
    """Train the model in place; `report` is called after each epoch with its number and mean loss."""
    generator = torch.Generator().manual_seed(schedule.seed)
    optimizer = torch.optim.Adam(model.parameters(), weight_decay=schedule.decay)
    steps = schedule.epochs * -(-len(images) // schedule.batch)
    cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, schedule.rate, total_steps=steps)
    model.train()
    for epoch in range(schedule.epochs):
        total = 0.0
        for chosen in torch.randperm(len(images), generator=generator).split(schedule.batch):
            loss = objective.loss(model, images[chosen], labels[chosen], generator)
            if not torch.isfinite(loss):
                raise AttriboundError(
                    f"the loss became {float(loss.detach())} in epoch {epoch + 1}: try a smaller rate"
                )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            cycle.step()
            total += float(loss.detach()) * len(chosen)
        if report:
            report(epoch + 1, total / len(images))
    model.eval()


def accuracy(model: nn.Module, images: Tensor, labels: Tensor, noise: Noise | None = None, seed: int = 0) -> float:
    """Share of images classified correctly, with one draw of noise each if a law is given."""
    generator = torch.Generator().manual_seed(seed)
    right = 0
    with torch.no_grad():
        for x, y in zip(images.split(512), labels.split(512), strict=True):
            points = x if noise is None else x + noise.draw(len(x), x[0], generator)
            right += int((model(points).argmax(dim=1) == y).sum())
    return right / len(images)
