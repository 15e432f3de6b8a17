"""Everything the page says, read from a run once."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from attribound.bounds.rules import Evidence
from attribound.certificate import certificate_from
from attribound.errors import AttriboundError, StoredDataError
from attribound.report.curves import Proofs, prove
from attribound.runs import Store, Summary, summarise
from attribound.runs.export import flat, public_records

_PROVED_RULES = frozenset({"tight", "covariance", "curvature", None})
_PICTURE_DATA = ("mnist", "cifar10", "folder", "photos")


@final
@dataclass(frozen=True)
class Row:
    """One record as the table shows it."""

    item: int
    label: int | None
    prediction: int | None
    status: str
    rule: str
    note: str


@final
@dataclass(frozen=True)
class Collected:
    """What a run holds, in the order of its items.

    Attributes:
        summary: the run in numbers.
        rows: one per record.
        proofs: what the records prove.
        findings: what attacks found, by row.
        classes: names of the classes; may be shorter than their number.
        source: in words, how the limit is known.
        versions: software that made the records.
        assumed: some limit is a guess.
        paper: some record rests on the paper's formula.
        shared: values that all records have in common, by flat key.
        columns: the other values by flat key, one per record.
        scan: noise levels that were tried, if they were.
    """

    summary: Summary
    rows: list[Row]
    proofs: Proofs
    findings: dict[int, dict[str, Any]]
    classes: list[str]
    source: str
    versions: dict[str, str]
    assumed: bool
    paper: bool
    shared: dict[str, Any]
    columns: dict[str, list[Any]]
    scan: dict[str, Any] | None

    @property
    def violated(self) -> list[int]:
        """Items whose certificate an attack broke."""
        return [one["item"] for one in self.findings.values() if one["violated"]]

    @property
    def of_pictures(self) -> bool:
        """Whether the inputs are images by the name of the data set."""
        return self.summary.config.data.startswith(_PICTURE_DATA)


def collect(store: Store, scan: Mapping[str, Any] | None = None) -> Collected:
    """Read a run; whatever does not have the form of one is an error in one line."""
    try:
        return _collect(store, scan)
    except AttriboundError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise StoredDataError(f"{store.path} holds a broken record: {type(error).__name__} at {error}") from None


def _collect(store: Store, scan: Mapping[str, Any] | None) -> Collected:
    summary = summarise(store)
    rows: list[Row] = []
    evidences: list[Evidence | None] = []
    stated: list[dict[float, float]] = []
    first: dict[str, Any] = {}
    kinds: set[str] = set()
    for record in store.records():
        failed = record["status"] == "error"
        rows.append(_row(record))
        evidences.append(None if failed else certificate_from(record, f"item {record['item']}").evidence)
        stated.append({} if failed else _stated(record, summary.config.cosines))
        if not failed:
            first = first or record
            kinds.add(str(record["bound"]["kind"]))
    shared, columns = _columns(store)
    place = {row.item: number for number, row in enumerate(rows)}
    return Collected(
        summary=summary,
        rows=rows,
        proofs=prove(evidences, stated, summary.config.cosines),
        findings={place[item]: _finding(one) for item, one in store.findings().items() if item in place},
        classes=[str(name) for name in store.recall("classes") or []],
        source=str(first["bound"]["source"]) if first else "",
        versions={str(key): str(value) for key, value in first["versions"].items()} if first else {},
        assumed="assumed" in kinds or summary.config.bound.startswith("assumed"),
        paper=any(row.rule not in _PROVED_RULES and row.rule for row in rows),
        shared=shared,
        columns=columns,
        scan=checked_scan(scan or store.recall("scan"), "the scan"),
    )


def _row(record: Mapping[str, Any]) -> Row:
    failed = record["status"] == "error"
    return Row(
        item=int(record["item"]),
        label=None if record["label"] is None else int(record["label"]),
        prediction=None if failed else int(record["prediction"]),
        status=str(record["status"]),
        rule="" if failed else str(record["rule"] or ""),
        note=str(record["message"] if failed else record["reason"]),
    )


def _stated(record: Mapping[str, Any], cosines: tuple[float, ...]) -> dict[float, float]:
    found = {float(key): float(value) for key, value in record["max_epsilon"].items()}
    return {cosine: found[cosine] for cosine in cosines}


def _finding(one: Mapping[str, Any]) -> dict[str, Any]:
    broken = one.get("broken_at")
    return {
        "item": int(one["item"]),
        "epsilon": float(one["epsilon"]),
        "certified": float(one["certified"]),
        "worst": float(one["worst"]),
        "method": str(one["method"]),
        "violated": bool(one["violated"]),
        "broken_at": None if broken is None else float(broken),
    }


def _columns(store: Store) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Records by column; what is the same everywhere is kept once."""
    columns: dict[str, list[Any]] = {}
    count = 0
    for record in public_records(store):
        for key, value in flat({key: value for key, value in record.items() if value is not None}).items():
            column = columns.setdefault(key, [])
            column += [None] * (count - len(column)) + [value]
        count += 1
    for column in columns.values():
        column += [None] * (count - len(column))
    same = {key for key, column in columns.items() if count > 1 and all(value == column[0] for value in column)}
    return {key: columns[key][0] for key in same}, {key: columns[key] for key in columns if key not in same}


def checked_scan(scan: Any, name: str) -> dict[str, Any] | None:
    """The scan that `attribound tune --out` wrote, with nothing but what the page needs; None if there is none."""
    if scan is None:
        return None
    try:
        levels = [
            {
                "noise": str(level["noise"]),
                "sigma": float(level["sigma"]),
                "accuracy_noisy": float(level["accuracy_noisy"]),
                "median_max_epsilon": float(level["median_max_epsilon"]),
            }
            for level in scan["levels"]
        ]
        plain = {"accuracy": float(scan["accuracy"]), "cosine": float(scan["cosine"])}
        words = {"advice": str(scan.get("advice", "")), "recommended": str(scan.get("recommended") or "")}
        return {"levels": levels, **plain, **words, "model": str(scan.get("model", ""))}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoredDataError(f"{name} is not what `attribound tune --out` writes: {error}") from None


def read_scan(path: Path) -> dict[str, Any]:
    """The JSON file that `attribound tune --out` wrote."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StoredDataError(f"no such file: {path}") from None
    except (OSError, ValueError) as error:
        raise StoredDataError(f"{path} is not a scan: {error}") from None
    return checked_scan(stored, str(path)) or {}
