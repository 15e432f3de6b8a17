"""A run's records, read once and block by block: what remains is a few numbers per record."""

import contextlib
import gc
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, final

import numpy as np

from attribound.bounds.evidence import Evidence
from attribound.certificates.finding import Finding
from attribound.certificates.record import Failure, Record
from attribound.report.shared.curves import Block
from attribound.report.shared.downloads import DownloadWriter
from attribound.rounding import exact_text
from attribound.runs import RunConfig
from attribound.runs.proved import ProvedRecord, prove_records
from attribound.runs.summary import Tally

_BLOCK = 1000


@final
@dataclass(frozen=True)
class Row:
    """One record as the table shows it."""

    item: int
    label: int | None = None
    prediction: int | None = None
    status: str = "error"
    rule: str = ""
    note: str = ""
    input: str = ""

    @property
    def correct(self) -> bool:
        """Whether the prediction is the label."""
        return self.label is not None and self.label == self.prediction


class _Member(NamedTuple):
    """One record on its way into a block."""

    row: int
    record: Record
    evidence: Evidence


def read(
    records: Iterator[Record | Failure],
    config: RunConfig,
    findings: Mapping[int, Finding],
    *,
    kept: frozenset[int],
    drawn: frozenset[int],
) -> "Reader":
    """Read and prove all records; those in the rows to keep can be downloaded, those that are drawn are held whole."""
    reader = Reader(config, kept, findings, drawn=drawn)
    with _uncollected():
        while block := list(itertools.islice(records, _BLOCK)):
            reader.take(block)
        reader.finish()
    return reader


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Without the collector of cycles, of which there are none: it would look at all rows again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@final
@dataclass
class Reader:
    """What remains of the records once they were read."""

    config: RunConfig
    kept: frozenset[int]
    findings: Mapping[int, Finding]
    rows: list[Row] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    waiting: dict[object, list[_Member]] = field(default_factory=dict)
    downloads: DownloadWriter = field(default_factory=DownloadWriter)
    first: Record | None = None
    drawn: frozenset[int] = frozenset()
    records: dict[int, Record] = field(default_factory=dict)
    alpha: float = 0.0
    assumed: bool = False

    def __post_init__(self) -> None:
        self.tally = Tally(self.config)

    def take(self, records: Sequence[Record | Failure]) -> None:
        """Read one block."""
        for one in prove_records(records, self.config):
            row = len(self.rows)
            self.tally.take(one)
            self.rows.append(_row(one))
            if row in self.kept:
                self.downloads.add(one, self.findings)
            if isinstance(one, ProvedRecord):
                if row in self.drawn:
                    self.records[row] = one.record
                self.first = self.first or one.record
                self.alpha = max(self.alpha, one.record.alpha)
                self.assumed = self.assumed or one.record.bound.kind == "assumed"
                self._wait(_Member(row, one.record, one.record.evidence()))

    def _wait(self, member: _Member) -> None:
        """Records are asked a thousand at once: those of one family wait for each other."""
        family = self.waiting.setdefault(member.evidence.family, [])
        family.append(member)
        if len(family) == _BLOCK:
            self.blocks.append(_stacked(family, self.config.cosines))
            family.clear()

    def finish(self) -> None:
        """No more records come."""
        self.blocks += [_stacked(family, self.config.cosines) for family in self.waiting.values() if family]


def _stacked(members: Sequence[_Member], cosines: Sequence[float]) -> Block:
    """Records of one family as one block."""
    known = [one.record for one in members]
    return Block(
        rows=np.array([one.row for one in members], np.int64),
        evidence=Evidence.stack([one.evidence for one in members]),
        draws=np.array([one.draws for one in known], np.float64)[:, None],
        stated={c: np.array([one.max_epsilon.get(exact_text(c), 0.0) for one in known]) for c in cosines},
        visible={c: np.array([one.max_visible_epsilon.get(exact_text(c), 0.0) for one in known]) for c in cosines},
    )


def _row(one: ProvedRecord | Failure) -> Row:
    if isinstance(one, Failure):
        return Row(one.item, one.label, note=one.message, input=one.input)
    record = one.record
    status = "assumed" if record.bound.kind == "assumed" else "certified"
    note = "; ".join([*one.doubts, *([record.reason] if record.reason else [])])
    return Row(record.item, record.label, record.prediction, status, record.rule or "", note, record.subject.input)
