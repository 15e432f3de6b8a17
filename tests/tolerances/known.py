"""Fields and changes whose window means are known."""

import torch
from torch import Tensor

from attribound.changes import Continuous, Finite
from attribound.fields import Explanation, Field


class Step(torch.nn.Module):
    """Class 1 where the first number is above an edge."""

    def __init__(self, edge=1e9):
        super().__init__()
        self.edge = edge

    def forward(self, x: Tensor) -> Tensor:
        first = x.flatten(1)[:, 0]
        return torch.stack([torch.zeros_like(first), first - self.edge], dim=1)


class Turning(Field):
    """A map that turns by `speed` degrees per unit of the first number; `noise` of its own if asked."""

    name = "turning"

    def __init__(self, speed=2.0, size=6, edge=1e9, noise=0.0):
        self.model, self.speed, self.size, self.noise = Step(edge), speed, size, noise
        self.random = noise > 0

    def explain(self, inputs, target, *, generator=None, create_graph=False):
        angle = torch.deg2rad(self.speed * inputs.flatten(1)[:, 0].double())
        maps = torch.zeros(len(inputs), self.size, dtype=torch.float64)
        maps[:, 0], maps[:, 1] = angle.cos(), angle.sin()
        if self.noise and generator is not None:
            maps += self.noise * torch.randn(maps.shape, generator=generator, dtype=torch.float64)
        return Explanation(maps)


class Add(Continuous):
    """Adds t to the first number."""

    name, unit, made, example = "add", "units", "t is added to the first number", "add:30"

    def __init__(self, high=30.0, low=None):
        self.low, self.high = -high if low is None else low, high
        self.seen = []

    def apply(self, x, t):
        self.seen += t.tolist()
        made = x.repeat(len(t), *[1] * x.ndim)
        made[:, 0] += t.to(x)
        return made


class Mirrored(Add):
    """Only t >= 0 has a meaning."""

    name, mirrored = "mirrored", True

    def __init__(self, high=30.0):
        super().__init__(high, 0.0)


class Steps(Finite):
    """Adds a whole number to the first number."""

    name, unit, made, example = "steps", "steps", "a whole number is added", "steps:30"
    spec = "steps"

    def __init__(self, count=30):
        self.count = count

    def alternatives(self, x):
        every = torch.arange(-self.count, self.count + 1).double()
        return every[every != 0]

    def apply(self, x, t):
        made = x.repeat(len(t), *[1] * x.ndim)
        made[:, 0] += t.to(x)
        return made
