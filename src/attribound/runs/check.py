"""Check a whole run: every record against its evidence, its configuration and its data, and some sampled again."""

import math
import random
from abc import ABC, abstractmethod
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
        alone = -(-100 * (self.eligible - self.resampled) // self.eligible)  # rounded up
        return (
            f"chosen at random, {self.resampled} of {self.eligible}: a single forged record is missed with probability "
            f"{alone} %{rest}"
        )


def missed(records: int, forged: int, resampled: int) -> float:
    """Probability that none of the forged records is among those sampled again, all choices being equally likely."""
    return math.comb(records - forged, resampled) / math.comb(records, resampled)


class Checking(ABC):
    """How the records of one kind of run are checked.

    Args:
        store: the run.
        opener: opens the records' subjects.
        look: whether the data are looked at.
    """

    def __init__(self, store: Store, opener: Opener, *, look: bool) -> None:
        self.store, self.opener, self.look = store, opener, look
        self.data = DataCheck.of(store, opener) if look else None

    @abstractmethod
    def all(self, found: RunCheck) -> list[tuple[int, str]]:
        """Check every record; item and part of those in which nothing is wrong so far."""

    @abstractmethod
    def again(self, item: int, part: str) -> Again:
        """Make one of them again."""


@final
class CheckedCertificates(Checking):
    """Derives every certificate anew, and looks at the maps that are kept."""

    def all(self, found: RunCheck) -> list[tuple[int, str]]:
        """Each input has a record."""
        fine, inputs, claims = list[tuple[int, str]](), defaultdict[str, list[int]](list), dict[str, None]()
        kept = kept_maps(self.store)
        for one in prove_all(self.store):
            found.records += 1
            if isinstance(one, Failure):
                continue
            record = one.record
            inputs[record.input_sha256].append(record.item)
            claims |= dict.fromkeys(filter(None, [record.bound.claim]))
            found.doubt(record.item, one.doubts)
            sampled = smoothed_map(self.store, record.item) if record.item in kept and not one.doubts else None
            if sampled is not None and (trouble := map_trouble(sampled, record.norm, record.map_sha256)):
                found.doubt(record.item, [trouble])
            if self.data is not None:
                found.doubt(record.item, self.data.problems(record))
            if record.item not in found.problems:
                fine.append((record.item, ""))
        found.remarks += shown_claims(claims)
        found.remarks += repeated(inputs.values(), self.data)
        return fine

    def again(self, item: int, part: str) -> Again:
        """Sample it again."""
        record = self.store.record(item)
        assert isinstance(record, Record)
        certificate, opened = Certificate(record, smoothed_map(self.store, item)), self.opener(record.subject)
        again = sample_again(certificate, opened.field, opened.x, opened.noise)
        alone = Certificate(record)  # a run's map is in float32: it has the record's norm only nearly
        problems = self.data.units(record.subject, opened.field) if self.data is not None else []
        return Again(verify_record(alone).problems + again.problems + problems, again.remarks)


def check_run(
    path: Path,
    checking: type[Checking] = CheckedCertificates,
    *,
    resample: int = 0,
    opener: Opener | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> RunCheck:
    """Derive every record's numbers anew; make some again, chosen from the system's entropy, and look at the data.

    Args:
        path: the run.
        checking: how its kind of records is checked; by default as certificates.
        resample: how many records to make again. A forger cannot know which.
        opener: opens their subjects; the data are compared if records are made again or the user named the data.
        progress: called with (records made again, how many in all).
    """
    opener, found = opener or Opener(), RunCheck()
    with Store.read_any(path) as store:
        checks = checking(store, opener, look=bool(resample) or opener.names_data)
        eligible = checks.all(found)
        found.whole += counted(store, checks.data)
        found.remarks += _unfinished(store, found.records)
        chosen = sorted(random.SystemRandom().sample(eligible, min(resample, len(eligible))))
        found.resampled, found.eligible = len(chosen), len(eligible)
        for number, (item, part) in enumerate(chosen):
            progress(number, len(chosen))
            again = checks.again(item, part)
            found.doubt(item, again.problems)
            found.remarks += [f"item {item}{part and f', {part}'}: {line}" for line in again.remarks]
    progress(len(chosen), len(chosen))
    return found


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
    """A line about records that are missing, if any are."""
    inputs = store.recall("inputs")
    expected = inputs * len(store.config.parts) if isinstance(inputs, int) else records
    if records >= expected:
        return []
    return [f"{expected - records} of {expected} records are missing: the run was not finished, or they were deleted"]
