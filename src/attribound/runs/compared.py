"""What all comparisons of two runs share: records are paired by their inputs, and pairs counted by verdict."""

from abc import ABC, abstractmethod
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from attribound.certificates.record import Failure
from attribound.certificates.subject import paired
from attribound.runs.config import RunConfig
from attribound.runs.proving import Proved, Proving, R
from attribound.runs.store import Store

DOUBTFUL = "a record is doubtful and counts as proving nothing"
TOLERANCE = 1e-9
"""Reaches that differ by less are the same."""
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class PairedRecords:
    """What both runs say about one input.

    Attributes:
        items: its number in each run.
        verdict: what became of the explanation.
        input: what people call the input; empty if it has no name.
    """

    items: tuple[int, int]
    verdict: str
    input: str = ""

    @property
    def number(self) -> str:
        """The input's number, or its two, and its name if it has one."""
        return paired(self.items, self.input)


P = TypeVar("P", bound=PairedRecords)


@dataclass(frozen=True, kw_only=True)
class ComparedRuns(ABC, Generic[P]):
    """Two runs, input by input.

    Attributes:
        names: the runs.
        configs: what was run.
        pairs: what both runs have a record of.
    """

    verdicts: ClassVar[tuple[str, ...]]
    """In the order in which they are counted."""

    names: tuple[str, str]
    configs: tuple[RunConfig, RunConfig]
    pairs: Sequence[P]

    @property
    @abstractmethod
    def sentences(self) -> list[str]:
        """What was found, in words."""

    @property
    @abstractmethod
    def ordered(self) -> list[P]:
        """What changed first, the largest changes in front."""

    @property
    def lines(self) -> list[str]:
        """What got worse, in words, a line each."""
        return []

    @property
    def counts(self) -> dict[str, int]:
        """Pairs by verdict."""
        counts = Counter(pair.verdict for pair in self.pairs)
        return {verdict: counts[verdict] for verdict in self.verdicts}

    @property
    def differences(self) -> str:
        """What the runs do differently, from the first to the second."""
        return self.configs[0].difference(self.configs[1]) or "nothing that their configurations name"

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "runs": list(self.names),
            "counts": self.counts,
            "differences": self.differences,
            "sentences": self.sentences,
            "pairs": [dict(vars(pair)) for pair in self.pairs],
        }


def names_of(first: Path, second: Path) -> tuple[str, str]:
    """What two runs are called, so that they can be told apart."""
    return (first.name, second.name) if first.name != second.name else (str(first), str(second))


def in_pairs(before: Iterable[tuple[Hashable, T]], after: Iterable[tuple[Hashable, T]]) -> Iterator[tuple[T, T]]:
    """What has the same key before and after, in the order before; each is in one pair at most."""
    waiting: dict[Hashable, deque[T]] = defaultdict(deque)
    for key, one in after:
        waiting[key].append(one)
    for key, one in before:
        if waiting.get(key):
            yield one, waiting[key].popleft()


def proved_pairs(
    stores: tuple[Store, Store], prove: Proving[R], key: Callable[[R], Hashable]
) -> Iterator[tuple[Proved[R], Proved[R]]]:
    """Proved records of two runs by what they are about."""
    before, after = (
        ((key(one.record), one) for one in prove(store) if not isinstance(one, Failure)) for store in stores
    )
    return in_pairs(before, after)
