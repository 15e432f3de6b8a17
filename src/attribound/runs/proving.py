"""What records of tolerances prove: one that contradicts itself or its run states nothing."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar, final

from attribound.certificates.record import Failure
from attribound.runs.config import RunConfig
from attribound.runs.store import Store
from attribound.tolerances.columns.record import ColumnsRecord
from attribound.tolerances.record import ToleranceRecord

R = TypeVar("R", ToleranceRecord, ColumnsRecord)


@final
@dataclass(frozen=True)
class Proved(Generic[R]):
    """A record without contradictions.

    Attributes:
        record: the record; where anything is wrong with it, stating nothing.
        doubts: what was wrong with the record as stored, in words; empty if nothing was.
    """

    record: R
    doubts: tuple[str, ...] = ()


@final
@dataclass(frozen=True)
class Proving(Generic[R]):
    """How records of one kind are proved.

    Attributes:
        kind: their type.
        problems: where a record contradicts itself.
        foreign: where it does not belong to its run.
        silenced: the record without anything that it claims.
    """

    kind: type[R]
    problems: Callable[[R], list[str]]
    foreign: Callable[[R, RunConfig], list[str]]
    silenced: Callable[[R], R]

    def __call__(self, store: Store) -> Iterator[Proved[R] | Failure]:
        """Check a run's records in their order; failures pass through."""
        config = store.config
        for record in store.only(self.kind):
            yield record if isinstance(record, Failure) else self.prove(record, config)

    def prove(self, record: R, config: RunConfig) -> Proved[R]:
        """Check one record."""
        doubts = (*self.problems(record), *self.foreign(record, config))
        return Proved(self.silenced(record) if doubts else record, doubts)


def strange(record: ToleranceRecord | ColumnsRecord, config: RunConfig) -> list[str]:
    """What no record of its run has: another model, or no seal."""
    other = config.model_sha256 and record.model_sha256 != config.model_sha256
    return ["is about another model than its run"] * bool(other) + ["has no seal"] * (not record.seal)
