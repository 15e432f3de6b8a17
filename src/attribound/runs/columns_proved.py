"""What records of column tolerances prove: one that contradicts itself or its run states nothing."""

import msgspec

from attribound.runs.config import RunConfig
from attribound.runs.proving import Proving, strange
from attribound.tolerances.columns.record import ColumnsRecord, Kept
from attribound.tolerances.columns.verify import problems


def _foreign(record: ColumnsRecord, config: RunConfig) -> list[str]:
    """Where a record does not belong to its run."""
    found = [] if record.asked == config.columns else ["was asked something else than its run"]
    return found + strange(record, config)


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


prove_columns = Proving(ColumnsRecord, problems, _foreign, _silenced)
