"""Check a run of column tolerances: every record against itself, its run and its table; some searched again."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

from attribound.certificates.record import Failure
from attribound.certification.reopen import Opener
from attribound.data import Dataset
from attribound.errors import AttriboundError
from attribound.runs.check import RunCheck, counted
from attribound.runs.columns_proved import prove_columns
from attribound.runs.data_check import DataCheck
from attribound.runs.job import cells_of
from attribound.runs.store import Store
from attribound.runs.tolerance_check import unfinished
from attribound.tolerances.columns.again import search_again
from attribound.tolerances.columns.asker import row_hash
from attribound.tolerances.columns.record import PART, ColumnsRecord


def check_columns_run(
    path: Path,
    *,
    resample: int = 0,
    opener: Opener | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> RunCheck:
    """Check every record; search some again, chosen from the system's entropy.

    Args:
        path: the run.
        resample: how many records to search again.
        opener: opens the forest and the table; the table is compared if records are searched again.
        progress: called with (records searched again, how many in all).
    """
    opener, found = opener or Opener(), RunCheck()
    with Store.read_any(path) as store:
        config = store.config
        opened = opener.table(config.subject, cells_of(config)) if resample or opener.names_data else None
        fine = []
        for one in prove_columns(store.columns(), config):
            found.records += 1
            if isinstance(one, Failure):
                continue
            found.doubt(one.record.item, one.doubts)
            found.doubt(one.record.item, _about_data(one.record, opened[1]) if opened is not None else ())
            fine += [one.record.item] if one.record.item not in found.problems else []
        found.whole += counted(store, DataCheck.of(store, opener) if opened is not None else None)
        found.remarks += unfinished(store, found.records)
        chosen = sorted(random.SystemRandom().sample(fine, min(resample, len(fine))))
        found.resampled, found.eligible = len(chosen), len(fine)
        for number, item in enumerate(chosen):
            progress(number, len(chosen))
            record = store.record(item, PART)
            assert isinstance(record, ColumnsRecord)
            assert opened is not None
            found.doubt(item, search_again(record, opened[0]))
        progress(len(chosen), len(chosen))
    return found


def _about_data(record: ColumnsRecord, data: Dataset) -> Iterator[str]:
    try:
        row = data.row(record.item)
    except (AttriboundError, IndexError):
        yield f"{data.name} has no row {record.item} that can be read"
        return
    if row_hash(row) != record.input_sha256:
        yield f"row {record.item} of {data.name} is not the row that was asked about"
    if record.label not in (None, data.label(record.item)):
        yield f"has label {record.label}, {data.name} says {data.label(record.item)}"
