"""A run's records, read once and block by block: what remains is a few numbers per record."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np

from attribound.bounds.evidence import Evidence
from attribound.certificates.finding import Finding
from attribound.certificates.record import Failure, Record
from attribound.report.shared.curves import Block
from attribound.report.shared.downloads import DownloadWriter
from attribound.rounding import exact_text
from attribound.runs import RunConfig
from attribound.runs.families import Family
from attribound.runs.proved import ProvedBlock, ProvedRecord, prove_blocks, uncollected
from attribound.runs.summary import Tally

_BLOCK = 4000


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


def read(
    records: Iterable[Record | Failure],
    config: RunConfig,
    findings: Mapping[int, Finding],
    *,
    kept: frozenset[int],
    drawn: frozenset[int],
    name: str = "",
) -> "Reader":
    """Read and prove all records; those in the rows to keep can be downloaded, those that are drawn are held whole."""
    reader = Reader(config, kept, findings, drawn=drawn)
    with uncollected():
        for block in prove_blocks(records, config, name=name):
            reader.take(block)
        reader.finish()
    return reader


@final
@dataclass
class Reader:
    """What remains of the records once they were read."""

    config: RunConfig
    kept: frozenset[int]
    findings: Mapping[int, Finding]
    rows: list[Row] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    waiting: dict[object, list[Block]] = field(default_factory=lambda: defaultdict(list))
    downloads: DownloadWriter = field(default_factory=DownloadWriter)
    first: Record | None = None
    drawn: frozenset[int] = frozenset()
    records: dict[int, Record] = field(default_factory=dict)
    alpha: float = 0.0
    assumed: bool = False

    def __post_init__(self) -> None:
        self.tally = Tally(self.config)

    def take(self, block: ProvedBlock) -> None:
        """Read one block."""
        start, records = len(self.rows), dict[int, Record]()
        for place, one in enumerate(block.members):
            self.tally.take(one)
            self.rows.append(_row(one))
            if start + place in self.kept:
                self.downloads.add(one, self.findings)
            if isinstance(one, ProvedRecord):
                records[place] = one.record
                if start + place in self.drawn:
                    self.records[start + place] = one.record
        for record in records.values():
            self.first = self.first or record
            self.alpha = max(self.alpha, record.alpha)
            self.assumed = self.assumed or record.bound.kind == "assumed"
        for family in (*block.families, *_others(records, block.families)):
            if family.places:
                self._wait(_stacked(start, family, [records[at] for at in family.places], self.config.cosines))

    def _wait(self, block: Block) -> None:
        """Records are asked a thousand at once: those of one kind wait for each other."""
        waiting = self.waiting[block.evidence.shape]
        waiting.append(block)
        if sum(len(one.rows) for one in waiting) >= _BLOCK:
            self.blocks.append(Block.join(waiting))
            waiting.clear()

    def finish(self) -> None:
        """No more records come."""
        self.blocks += [Block.join(waiting) for waiting in self.waiting.values() if waiting]


def _others(records: Mapping[int, Record], families: Sequence[Family]) -> list[Family]:
    """Families of the records, by place, that are in none yet."""
    alike: dict[object, list[int]] = defaultdict(list)
    for place in sorted({*records}.difference(*(family.places for family in families))):
        alike[records[place].evidence().family].append(place)
    return [Family(places, Evidence.stack([records[at].evidence() for at in places])) for places in alike.values()]


def _stacked(start: int, family: Family, known: Sequence[Record], cosines: Sequence[float]) -> Block:
    """Records of one family as one block; rows are counted from the first of those they were proved with."""
    return Block(
        rows=start + np.array(family.places, np.int64),
        evidence=family.evidence,
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
