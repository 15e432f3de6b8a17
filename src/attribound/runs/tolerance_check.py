"""Check a run of tolerances: every record against its facts, its run and its data, and some made again."""

import random
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from attribound.certificates.record import Failure
from attribound.certification.reopen import Opener
from attribound.runs.check import RunCheck, counted, repeated
from attribound.runs.data_check import DataCheck
from attribound.runs.store import Store
from attribound.runs.tolerance_proved import prove_tolerances
from attribound.tolerances.again import ask_again
from attribound.tolerances.record import ToleranceRecord


def check_tolerances(
    path: Path,
    *,
    resample: int = 0,
    opener: Opener | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> RunCheck:
    """Derive every record's intervals anew; make some changes again, chosen from the system's entropy.

    Args:
        path: the run.
        resample: how many records to make again.
        opener: opens their subjects; the data are compared if records are made again or the user named the data.
        progress: called with (records made again, how many in all).
    """
    opener, found = opener or Opener(), RunCheck()
    with Store.read_any(path) as store:
        data = DataCheck.of(store, opener) if resample or opener.names_data else None
        eligible = _check_records(store, found, data)
        found.whole += counted(store, data)
        found.remarks += unfinished(store, found.records)
        chosen = random.SystemRandom().sample(eligible, min(resample, len(eligible)))
        found.resampled, found.eligible = len(chosen), len(eligible)
        for number, (item, part) in enumerate(sorted(chosen)):
            progress(number, len(chosen))
            record = store.record(item, part)
            assert isinstance(record, ToleranceRecord)
            problems, remarks = ask_again(record, *opener.explained(record.subject))
            found.doubt(item, [f"{part}: {line}" for line in problems])
            found.remarks += [f"item {item}, {part}: {line}" for line in remarks]
        progress(len(chosen), len(chosen))
    return found


def _check_records(store: Store, found: RunCheck, data: DataCheck | None) -> list[tuple[int, str]]:
    """Check all records; returns those with which nothing is wrong."""
    fine, inputs = list[tuple[int, str]](), defaultdict[str, set[int]](set)
    for one in prove_tolerances(store.tolerances(), store.config):
        found.records += 1
        if isinstance(one, Failure):
            continue
        record = one.record
        inputs[record.input_sha256].add(record.item)
        found.doubt(record.item, [f"{record.part}: {line}" for line in one.doubts])
        if data is not None:
            found.doubt(record.item, data.mismatches(record.subject, record.label))
        if record.item not in found.problems:
            fine.append((record.item, record.part))
    found.remarks += repeated(inputs.values(), data)
    return fine


def unfinished(store: Store, records: int) -> list[str]:
    """A line about records that are missing, if any are."""
    inputs = store.recall("inputs")
    expected = inputs * len(store.config.parts) if isinstance(inputs, int) else records
    if records >= expected:
        return []
    return [f"{expected - records} of {expected} records are missing: the run was not finished, or they were deleted"]
