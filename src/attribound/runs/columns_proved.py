"""What records of column tolerances prove: one that contradicts itself or its run states nothing."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import final

import msgspec

from attribound.certificates.record import Failure
from attribound.runs.config import RunConfig
from attribound.tolerances.columns.record import ColumnsRecord, Kept
from attribound.tolerances.columns.verify import problems


@final
@dataclass(frozen=True)
class ProvedColumns:
    """A record without contradictions.

    Attributes:
        record: the record; where anything is wrong with it, stating nothing.
        doubts: what was wrong with the record as stored, in words; empty if nothing was.
    """

    record: ColumnsRecord
    doubts: tuple[str, ...] = ()


def prove_columns(records: Iterable[ColumnsRecord | Failure], config: RunConfig) -> Iterator[ProvedColumns | Failure]:
    """Check records in their order; failures pass through."""
    for record in records:
        if isinstance(record, Failure):
            yield record
            continue
        doubts = (*problems(record), *foreign(record, config))
        yield ProvedColumns(_silenced(record) if doubts else record, doubts)


def foreign(record: ColumnsRecord, config: RunConfig) -> list[str]:
    """Where a record does not belong to its run."""
    found = [] if record.asked == config.columns else ["was asked something else than its run"]
    if config.model_sha256 and record.model_sha256 != config.model_sha256:
        found.append("is about another model than its run")
    if not record.seal:
        found.append("has no seal")
    return found


def _silenced(record: ColumnsRecord) -> ColumnsRecord:
    """The record without anything that it claims."""
    return msgspec.structs.replace(record, parts=tuple(_nothing(part) for part in record.parts))


def _nothing(part: Kept) -> Kept:
    return msgspec.structs.replace(
        part,
        intervals=(None,) * len(part.intervals),
        alternatives={},
        absent=(None,) * len(part.absent),
        reach=0.0,
        exact=False,
        nearest=None,
        after=None,
        score=None,
    )
