"""The one interface of statistics: each turns draws into one fact, at its own share of alpha."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

from torch import Tensor

from attribound.bounds.facts import Fact
from attribound.bounds.laws import Law

Facts = Mapping[type[Fact], Fact]


@final
@dataclass(frozen=True)
class Setting:
    """What every statistic may know before the first draw.

    Attributes:
        size: numbers in a map.
        limit: no map is longer than this.
        planned: how many draws are planned at most.
        block: rows whose mean is one draw.
        alpha: failure probability of everything together.
        law: the law of the noise.
    """

    size: int
    limit: float
    planned: int
    law: Law
    block: int = 1
    alpha: float = 1e-3


@final
@dataclass(frozen=True)
class Draws:
    """A chunk of independent draws.

    Attributes:
        on_device: (n, m) flat maps, float64, where the model computed them: what goes through all of a large map goes
            through it there.
        classes: (n,) the class the model gave to each noisy input; None where that is not known or asked.
    """

    on_device: Tensor
    classes: Tensor | None = None

    @cached_property
    def maps(self) -> Tensor:
        """(n, m) the maps on the processor."""
        return self.on_device.cpu()


class Statistic(ABC):
    """Collects draws and proves one fact.

    The first chunk is the pilot: directions, centres and designs are fixed on it, and it is never tested on itself.

    Attributes:
        fact: the type of fact it proves.
        share: the part of alpha it spends. The shares of all statistics together are at most 1.
        anytime: whether what it proves holds at every number of draws at once. If not, its share is spent over the
            looks at which sampling may stop.
    """

    fact: ClassVar[type[Fact]]
    share: float
    anytime: ClassVar[bool] = False

    @abstractmethod
    def start(self, pilot: Draws, setting: Setting) -> None:
        """Take the first chunk: fix everything that must not depend on the draws it is tested on."""

    @abstractmethod
    def add(self, draws: Draws) -> None:
        """Take one more chunk."""

    @abstractmethod
    def prove(self, alpha: float, known: Facts) -> Fact | None:
        """The fact, true with probability at least 1 - alpha given that the facts in `known` are true.

        Args:
            alpha: failure probability of this statistic's own event.
            known: facts of the statistics before this one.
        """

    def hope(self, alpha: float, known: Facts) -> Fact | None:
        """An optimistic guess at what `prove` will say in the end: only to stop early, never to certify."""
        return self.prove(alpha, known)
