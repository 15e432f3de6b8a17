"""Everything the page says about a run."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import msgspec
import numpy as np
from msgspec import Struct

from attribound.bounds.orders import Orders
from attribound.certificates.certificate import Certificate
from attribound.certificates.finding import Finding
from attribound.certificates.record import Record
from attribound.certificates.statements.registry import words
from attribound.codebook import Codebook
from attribound.errors import ArgumentError, AttriboundError, StoredDataError
from attribound.files import read_text
from attribound.report.shared.curves import Proofs, prove
from attribound.report.shared.downloads import Downloads
from attribound.report.shared.reading import Row, read
from attribound.report.shared.trust import trust
from attribound.runs import RunConfig, Store, Summary
from attribound.runs.summary import chance_level

MOST_ROWS, SOME_ROWS = 10_000, 4_000
"""Show all records up to the first number; beyond it, the second: evenly spaced ones and all attacked ones."""
MOST_DETAILS = 200
"""How many records can be opened; a page with more would be too large to share."""
_PICTURE_DATA = ("mnist", "cifar10", "folder", "photos")


class ScanLevel(Struct, frozen=True):
    """One noise level that `attribound tune` tried."""

    noise: str
    sigma: float
    accuracy_noisy: float
    median_max_epsilon: float
    denoised: bool = False


class Scan(Struct, frozen=True):
    """What `attribound tune --out` wrote, as far as the page needs it."""

    levels: list[ScanLevel]
    accuracy: float
    cosine: float
    advice: str = ""
    recommended: str | None = None
    assumed: bool = False
    model_sha256: str = ""


@final
@dataclass(frozen=True)
class Collected:
    """What a run holds, in the order of its items.

    Attributes:
        summary: the run in numbers; its statuses are derived from what is proved.
        rows: one per record.
        proofs: what the records prove.
        kept: the rows that the page's table holds.
        drawn: those of them that can be opened.
        trusted: by drawn row, which cells are proved up to which epsilon; see `report.trust`.
        reasons: by drawn row, up to which epsilon each of its counted features provably stays one of the largest.
        said: by drawn row, what every statement says about it, a line each.
        maps: by drawn row, norm and hash of the sampled map.
        findings: what attacks found, by row.
        classes: names of the classes; may be shorter than their number.
        features: names of the features, for tables; may be empty.
        codebook: what people call them and their values.
        first: the first record that is not a failure.
        alpha: the largest failure probability of any record, and at least the run's.
        assumed: some limit is a guess.
        downloads: the kept records as the contract names their keys.
        scan: noise levels that were tried, if they were.
    """

    summary: Summary
    rows: list[Row]
    proofs: Proofs
    kept: list[int]
    drawn: list[int]
    trusted: dict[int, dict[str, Any]]
    reasons: dict[int, dict[int, float]]
    said: dict[int, dict[str, str]]
    maps: dict[int, tuple[float, str | msgspec.UnsetType]]
    findings: dict[int, Finding]
    classes: list[str]
    features: list[str]
    codebook: Codebook
    first: Record | None
    alpha: float
    assumed: bool
    downloads: Downloads
    scan: Scan | None

    @property
    def config(self) -> RunConfig:
        """What was run."""
        return self.summary.config

    @property
    def violated(self) -> list[int]:
        """Items whose certificate an attack broke."""
        return [one.item for one in self.findings.values() if one.violated]

    @property
    def word(self) -> str:
        """What a number may be called."""
        return "assumed" if self.assumed else "claimed" if self.violated else "certified"

    @property
    def labelled(self) -> bool:
        """Whether any input has a label."""
        return any(row.label is not None for row in self.rows)

    @property
    def of_pictures(self) -> bool:
        """Whether the inputs are images by the name of the data set."""
        return self.config.data.startswith(_PICTURE_DATA)


def collect(store: Store, scan: Mapping[str, Any] | None = None) -> Collected:
    """Read a run; whatever does not have the form of one is an error in one line."""
    try:
        return _collect(store, scan)
    except AttriboundError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise StoredDataError(f"{store.path} holds a broken record: {type(error).__name__} at {error}") from None


def _collect(store: Store, scan: Mapping[str, Any] | None) -> Collected:
    config = store.config
    checked = None if scan is None else checked_scan(scan, "the scan", config.model_sha256)
    findings, place = store.findings(), {item: row for row, item in enumerate(sorted(store.done()))}
    attacked = [place[item] for item in findings if item in place]
    pictured = [place[item] for item in store.pictured() if item in place]
    drawn = sorted(dict.fromkeys([*sorted(attacked), *pictured]), key=lambda row: row not in attacked)[:MOST_DETAILS]
    kept = _kept(len(place), [*attacked, *drawn])
    drawn = sorted(drawn) or kept[:MOST_DETAILS]
    name = f" of {store.path}"
    reader = read(store.unchecked(), config, findings, kept=frozenset(kept), drawn=frozenset(drawn), name=name)
    proofs = prove(reader.blocks, len(reader.rows), config.cosines, frozenset(drawn))
    rows = _derived(reader.rows, proofs)
    summary = reader.tally.summary(config, list(findings.values()), chance_level(store))
    return Collected(
        summary=_corrected(summary, rows),
        rows=rows,
        proofs=proofs,
        kept=kept,
        drawn=[row for row in drawn if reader.rows[row].status != "error" or row in set(pictured)],
        trusted={
            row: found
            for row, record in reader.records.items()
            if (found := trust(record, proofs.scale.digits, len(drawn))) is not None
        },
        reasons={row: _reaches(record) for row, record in reader.records.items()},
        said={row: words(Certificate(record)) for row, record in reader.records.items()},
        maps={row: (record.norm, record.map_sha256) for row, record in reader.records.items()},
        findings={place[item]: one for item, one in findings.items() if item in place},
        classes=store.names("classes"),
        features=store.names("features"),
        codebook=_codebook(store.recall("codebook"), config),
        first=reader.first,
        alpha=max(config.alpha, reader.alpha),
        assumed=reader.assumed or config.bound.startswith("assumed"),
        downloads=reader.downloads.finish(),
        scan=checked,
    )


def _reaches(record: Record) -> dict[int, float]:
    """From the evidence, whatever is stated."""
    orders = record.evidence().facts.get(Orders)
    if not isinstance(orders, Orders):
        return {}
    return dict(zip(orders.places, orders.among(len(orders.places)).tolist(), strict=True))


def _kept(count: int, needed: Sequence[int]) -> list[int]:
    if count <= MOST_ROWS:
        return list(range(count))
    chosen = dict.fromkeys(needed[: SOME_ROWS // 2])
    spaced = np.linspace(0, count - 1, SOME_ROWS - len(chosen)).astype(int).tolist()
    return sorted({*chosen, *spaced})


def _derived(rows: Sequence[Row], proofs: Proofs) -> list[Row]:
    """Rows whose status is what their evidence says, whatever is stated."""
    return [
        row
        if row.status == "error" or proofs.anything[at]
        else Row(row.item, row.label, row.prediction, "uncertified", "", row.note, row.input)
        for at, row in enumerate(rows)
    ]


def _corrected(summary: Summary, rows: Sequence[Row]) -> Summary:
    """The summary with derived statuses."""
    proving = [row for row in rows if row.status in ("certified", "assumed")]
    return replace(
        summary,
        counts=dict(Counter(row.status for row in rows)),
        correct=None if summary.correct is None else sum(row.correct for row in proving),
    )


def _codebook(stored: Any, config: RunConfig) -> Codebook:
    """What the data stated, with the model's own words for categories."""
    try:
        book = Codebook() if stored is None else Codebook.parse(stored)
    except ArgumentError as error:
        raise StoredDataError(f"the run's codebook cannot be read: {error}") from None
    unsaid = {name: listed for name, listed in (config.words or {}).items() if not book[name].words}
    own = {name: replace(book[name], words=listed) for name, listed in unsaid.items()}
    return replace(book, columns={**book.columns, **own})


def checked_scan(scan: Any, name: str, model_sha256: str | None = None) -> Scan:
    """What `attribound tune --out` wrote, without a denoiser; of another model than the run's, it is refused."""
    try:
        found = msgspec.convert(scan, Scan, strict=False)
    except msgspec.ValidationError as error:
        raise StoredDataError(f"{name} is not what `attribound tune --out` writes: {error}") from None
    if model_sha256 is not None and found.model_sha256 != model_sha256:
        about = f"the model {found.model_sha256[:12]}" if found.model_sha256 else "a model that it does not name"
        raise StoredDataError(f"{name} is about {about}, expected the run's model {model_sha256[:12] or '(no hash)'}")
    return msgspec.structs.replace(found, levels=[level for level in found.levels if not level.denoised])


def read_scan(path: Path) -> dict[str, Any]:
    """The JSON file that `attribound tune --out` wrote."""
    try:
        stored: dict[str, Any] = json.loads(read_text(path))
    except ValueError as error:
        if isinstance(error, AttriboundError):
            raise
        raise StoredDataError(f"{path} is not a scan: {error}") from None
    checked_scan(stored, str(path))
    return stored
