"""Training with noise through our loop against a plain PyTorch loop on the same batches (ratio >= 0.9 wanted)."""

import torch
from torch.nn import functional

from attribound.data import Arrays
from attribound.models import SmallCNN
from attribound.noise import Gaussian
from attribound.training import Schedule, Standard, WithNoise, fit, fresh
from benchmarks.figure import Figure, race

IMAGES, BATCH = 6_000, 128


def plain_loop(images: torch.Tensor, labels: torch.Tensor) -> None:
    model = fresh(SmallCNN, 0)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for chosen in torch.randperm(len(images)).split(BATCH):
        points = images[chosen]
        loss = functional.cross_entropy(model(points + 0.5 * torch.randn_like(points)), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def measure() -> list[Figure]:
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(IMAGES, 1, 28, 28, generator=generator)
    labels = torch.randint(0, 10, (IMAGES,), generator=generator)
    data, objective = Arrays(images, labels), WithNoise(Standard(), Gaussian(0.5))
    ours, peer, ratio = race(
        lambda: fit(fresh(SmallCNN, 0), data, objective, Schedule(epochs=1, batch=BATCH)),
        lambda: plain_loop(images, labels),
        rounds=5,
    )
    return [Figure("train_loop", IMAGES / ours, IMAGES / peer, ratio, "images/s")]
