"""Check a whole run: every record against its evidence, its configuration and its data, and some sampled again."""

import math
import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from attribound.certificates.certificate import Certificate
from attribound.certificates.record import Failure, Record, shown_claims
from attribound.certificates.verify import verify_record
from attribound.certification.again import Again, sample_again
from attribound.certification.reopen import Opener
from attribound.runs.data_check import DataCheck
from attribound.runs.proved import prove_all
from attribound.runs.store import Store
from attribound.runs.stored_maps import kept_maps, map_trouble, smoothed_map

_SHOWN = 10
_SURE = 0.05


@final
@dataclass
class RunCheck:
    """Outcome of a check.

    Attributes:
        records: how many were checked.
        resampled: how many of them, chosen at random, were sampled again.
        eligible: how many could have been chosen.
        problems: what is wrong with records, by item.
        whole: what is wrong with the run as a whole.
        remarks: what a reader should know, though nothing is wrong.
    """

    records: int = 0
    resampled: int = 0
    eligible: int = 0
    problems: dict[int, list[str]] = field(default_factory=dict)
    whole: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems and not self.whole

    def doubt(self, item: int, problems: Iterable[str]) -> None:
        """Keep what is wrong with a record."""
        if found := list(problems):
            self.problems.setdefault(item, []).extend(found)

    @property
    def unseen(self) -> str:
        """What sampling so few again may have missed."""
        if not 0 < self.resampled < self.eligible:
            return ""
        many = next(n for n in range(1, self.eligible + 1) if missed(self.eligible, n, self.resampled) <= _SURE)
        rest = f"; {many} or more forged ones are found with probability at least 95 %" if many > 1 else ""
        return (
            f"chosen at random, {self.resampled} of {self.eligible}: a single forged record is missed with probability "
            f"{missed(self.eligible, 1, self.resampled):.0%}{rest}"
        )


def missed(records: int, forged: int, resampled: int) -> float:
    """Probability that none of the forged records is among those sampled again, all choices being equally likely."""
    return math.comb(records - forged, resampled) / math.comb(records, resampled)


def check_run(
    path: Path,
    *,
    resample: int = 0,
    opener: Opener | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> RunCheck:
    """Derive every record's numbers anew; sample some again, chosen from the system's entropy, and look at the data.

    Args:
        path: the run.
        resample: how many records to sample again. A forger cannot know which.
        opener: opens their subjects; the data are compared if records are sampled again or the user named the data.
        progress: called with (records sampled again, how many in all).
    """
    opener, found = opener or Opener(), RunCheck()
    with Store.read(path) as store:
        data = DataCheck.of(store, opener) if resample or opener.names_data else None
        eligible = _check_records(store, found, data)
        found.whole += counted(store, data)
        found.remarks += _unfinished(store, found.records)
        chosen = sorted(random.SystemRandom().sample(eligible, min(resample, len(eligible))))
        found.resampled, found.eligible = len(chosen), len(eligible)
        for number, item in enumerate(chosen):
            progress(number, len(chosen))
            again = _sampled_again(store, item, opener)
            found.doubt(item, again.problems)
            found.remarks += [f"item {item}: {line}" for line in again.remarks]
    progress(len(chosen), len(chosen))
    return found


def _check_records(store: Store, found: RunCheck, data: DataCheck | None) -> list[int]:
    """Check records one by one; the items of those in which nothing is wrong so far."""
    fine, inputs, claims = list[int](), defaultdict[str, list[int]](list), dict[str, None]()
    kept = kept_maps(store)
    for one in prove_all(store):
        found.records += 1
        if isinstance(one, Failure):
            continue
        record = one.record
        inputs[record.input_sha256].append(record.item)
        claims |= dict.fromkeys(filter(None, [record.bound.claim]))
        found.doubt(record.item, one.doubts)
        sampled = smoothed_map(store, record.item) if record.item in kept and not one.doubts else None
        if sampled is not None and (trouble := map_trouble(sampled, record.norm, record.map_sha256)):
            found.doubt(record.item, [trouble])
        if data is not None:
            found.doubt(record.item, data.problems(record))
        if record.item not in found.problems:
            fine.append(record.item)
    found.remarks += shown_claims(claims)
    found.remarks += repeated(inputs.values(), data)
    return fine


def repeated(inputs: Iterable[Collection[int]], data: DataCheck | None) -> list[str]:
    """A remark if items, grouped by their input, share one."""
    groups = [sorted(items) for items in inputs if len(items) > 1]
    if not groups:
        return []
    shown = "; ".join(", ".join(map(str, items[:_SHOWN])) for items in groups[:_SHOWN])
    known = "as in the data" if data is not None else "say --data to see whether the data repeat it too"
    return [f"several records are about the same input ({known}): items {shown}"]


def counted(store: Store, data: DataCheck | None) -> list[str]:
    """Whether the run speaks of as many inputs as it was asked for."""
    config, inputs = store.config, store.recall("inputs")
    if not config.data_sha256:  # made from certificates, without data
        return []
    expected = config.items if data is None else len(data.order)
    problems = list(data.of_run) if data is not None else []
    if expected is not None and inputs != expected:
        problems.append(f"it says that it has {inputs} inputs, its configuration asks for {expected}")
    strange = sorted(store.done() - set(data.order)) if data is not None else []
    if data is None and config.items is not None and not config.shuffle:
        strange = sorted(item for item in store.done() if item >= config.items)
    if strange:
        shown = ", ".join(map(str, strange[:_SHOWN]))
        problems.append(f"it has records of inputs that its configuration does not ask for: items {shown}")
    return problems


def _unfinished(store: Store, records: int) -> list[str]:
    inputs = store.recall("inputs")
    if not isinstance(inputs, int) or records >= inputs:
        return []
    return [f"{inputs - records} of {inputs} inputs have no record: the run was not finished, or they were deleted"]


def _sampled_again(store: Store, item: int, opener: Opener) -> Again:
    record = store.record(item)
    assert isinstance(record, Record)
    certificate, opened = Certificate(record, smoothed_map(store, item)), opener(record.subject)
    again = sample_again(certificate, opened.field, opened.x, opened.noise)
    alone = Certificate(record)  # a run's map is in float32: it has the record's norm only nearly
    return Again(verify_record(alone).problems + again.problems, again.remarks)
