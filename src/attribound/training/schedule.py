"""How long and how fast to train."""

import math
from dataclasses import dataclass
from typing import final

from attribound import checks as check
from attribound.errors import ArgumentError

_FIRST, _LAST = 0.04, 4e-6
_FASTEST = 1e6


@final
@dataclass(frozen=True)
class Schedule:
    """How long and how fast to train.

    Attributes:
        epochs: passes over the data.
        batch: images per step.
        rate: peak learning rate; it rises to it and falls to zero, both as half a cosine.
        decay: weight decay.
        momentum: of gradient descent (Nesterov), for networks with batch norm; Adam if None.
        seed: seed of the order of the data and of all noise.
        images: images seen in all, instead of `epochs`: the last pass over the data ends early.
        rise: part of the steps during which the rate rises.
    """

    epochs: int = 4
    batch: int = 128
    rate: float = 3e-3
    decay: float = 0.0
    momentum: float | None = None
    seed: int = 0
    images: int | None = None
    rise: float = 0.3

    def __post_init__(self) -> None:
        for name in ("epochs", "batch"):
            check.count(name, getattr(self, name))
        check.whole("seed", self.seed)
        if self.images is not None:
            check.count("images", self.images)
        check.positive("rate", self.rate)
        check.non_negative("decay", self.decay)
        check.alpha(self.rise, "rise")
        if max(self.rate, self.decay) > _FASTEST:
            raise ArgumentError(
                f"expected `rate` and `decay` at most {_FASTEST:g}, got {self.rate:g} and {self.decay:g}"
            )
        if self.momentum is not None:
            check.fraction("momentum", self.momentum)
            check.positive("momentum", self.momentum)

    def seen(self, size: int) -> int:
        """Images seen in all, of data of this size."""
        return size * self.epochs if self.images is None else self.images

    def part(self, size: int, epoch: int, step: int) -> float:
        """The part of all steps that lies before this step of this epoch, for data of this size."""
        full, rest = divmod(self.seen(size), size)
        each = math.ceil(size / self.batch)
        return (epoch * each + step) / (full * each + math.ceil(rest / self.batch))

    def rate_at(self, part: float) -> float:
        """The learning rate after this part of all steps."""
        if part < self.rise:
            return self.rate * (_FIRST + (1 - _FIRST) * _half_cosine(part / self.rise))
        return self.rate * (1 - (1 - _LAST) * _half_cosine((part - self.rise) / (1 - self.rise)))


def _half_cosine(part: float) -> float:
    return (1 - math.cos(math.pi * part)) / 2
