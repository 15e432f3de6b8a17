"""Records in other people's formats."""

import csv
import io
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from attribound.certificates.finding import Finding
from attribound.certificates.record import Failure, Record
from attribound.errors import ArgumentError, AttriboundError
from attribound.files import write_whole
from attribound.rounding import exact_text, round_down
from attribound.runs import columns_export
from attribound.runs.proved import ProvedRecord, prove_all
from attribound.runs.proving import Proved, prove_tolerances
from attribound.runs.records import input_of
from attribound.runs.store import Store
from attribound.sanitise import visible
from attribound.tolerances.record import ToleranceRecord
from attribound.tolerances.words import interval_text, proof_text

_INTERNAL = frozenset({"facts", "format", "seal", "map"})
_DETAILS = frozenset(
    {"subject", "versions", "noise", "bound", "dim", "attribution", "maps", "output", "draws", "budget", "until"}
    | {"norm", "eigenvalue_upper", "map_radius", "map_shape", "map_sha256", "model_sha256", "input_sha256", "features"}
    | {"alpha", "seed", "stopped", "cells", "answers", "window_share", "reference", "passing", "attacks"}
)
"""What a run says of all records alike, hashes, and what only a check needs: left out of a table for people."""

Table = columns_export.Table
Rows = Callable[[Store], Iterator[dict[str, Any]]]


def export(store: Store, kind: str, out: Path | None, rows: Rows) -> Iterator[str]:
    """Write a run's records to a file, or yield them as text, piece by piece, where `out` is None.

    Args:
        store: the run.
        kind: one of FORMATS.
        out: the file.
        rows: makes rows of the run's records.
    """
    if kind not in _WRITERS:
        raise ArgumentError(f"expected --format {', '.join(_WRITERS)}, got {kind!r}")
    if kind != "parquet":
        pieces = _WRITERS[kind](store, rows)
        if out is None:
            return pieces
        write_whole(out, (piece.encode() for piece in pieces))
    elif out is None:
        raise ArgumentError("expected --out FILE for parquet, which is not text")
    else:
        _parquet(store, out, rows)
    return iter(())


def public_records(store: Store) -> Iterator[dict[str, Any]]:
    """Records as the contract names their keys, with what attacks found; only numbers that are proved."""
    findings = store.findings()
    for one in prove_all(store):
        yield public_record(one, findings)


def tolerance_rows(store: Store) -> Iterator[dict[str, Any]]:
    """Tolerances, one per input and change; only intervals that are proved."""
    findings = store.tolerance_findings()
    for one in prove_tolerances(store):
        record = one if isinstance(one, Failure) else one.record
        mine = [found.row() for found in findings.get(record.item, []) if found.change == record.part]
        yield _shown(one, attacks=mine or None)


def public_record(one: ProvedRecord | Failure, findings: Mapping[int, Finding]) -> dict[str, Any]:
    """One record as the contract names its keys, with what attacks found."""
    finding = findings.get(one.item if isinstance(one, Failure) else one.record.item)
    return _shown(one, attack=None if finding is None else finding.row())


def _shown(one: ProvedRecord | Proved[ToleranceRecord] | Failure, **more: Any) -> dict[str, Any]:
    record, doubts = (one, ()) if isinstance(one, Failure) else (one.record, one.doubts)
    shown = {key: value for key, value in msgspec.to_builtins(record).items() if key not in _INTERNAL}
    return shown | more | {"doubts": "; ".join(doubts) or None}


def slim(record: dict[str, Any]) -> dict[str, Any]:
    """A record as people look at it: its input by name, and what is said about it."""
    if "statements" in record:
        return columns_export.slim(record)
    named = {"item": record["item"], "input": record.get("input") or record.get("subject", {}).get("input", "")}
    shown = {key: value for key, value in record.items() if key not in _DETAILS and key not in named}
    if isinstance(change := shown.get("change"), dict):
        shown["change"] = {key: change[key] for key in ("name", "unit", "low", "high")}
    return named | shown


def flat(record: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested keys joined by dots: `noise.kind`, `max_epsilon.0.8`."""
    row: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, dict):
            row |= flat(value, f"{prefix}{key}.")
        else:
            row[prefix + key] = json.dumps(value) if isinstance(value, list | tuple) else value
    return row


def _columns(rows: Iterable[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(key for row in rows for key in row))


def _json(store: Store, rows: Rows) -> Iterator[str]:
    yield f'{{"config": {json.dumps(store.config.to_json())},\n"records": ['
    for number, record in enumerate(rows(store)):
        yield (",\n" if number else "\n") + json.dumps(record, allow_nan=False)
    yield "\n]}\n"


def _csv(store: Store, rows: Rows) -> Iterator[str]:
    text, columns = io.StringIO(), dict[str, None]()
    with tempfile.TemporaryFile() as waiting:  # the last record may have a column that the first has not
        for record in rows(store):
            row = flat(record)
            columns |= dict.fromkeys(row)
            waiting.write(msgspec.json.encode(row) + b"\n")
        waiting.seek(0)
        writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
        writer.writerow({name: _as_text(name) for name in columns})
        for line in waiting:
            writer.writerow({key: _as_text(value) for key, value in msgspec.json.decode(line).items()})
            yield text.getvalue()
            text.seek(0)
            text.truncate()
    yield text.getvalue()


def _as_text(value: Any) -> Any:
    """A spreadsheet runs text that begins like a formula, a terminal obeys control characters: both stay text."""
    return _harmless(value) if isinstance(value, str) else value


@lru_cache(maxsize=256)
def _harmless(text: str) -> str:
    return f"'{visible(text)}" if text.lstrip().startswith(("=", "+", "-", "@")) else visible(text)


def _latex(store: Store, rows: Rows) -> Iterator[str]:
    """A booktabs table of what each input was certified for, of how far each change is proved, or of first reasons."""
    alignment, heads, body = _TABLES[store.config.kind](store)
    yield f"\\begin{{tabular}}{{{alignment}}}\n\\toprule\n{' & '.join(heads)} \\\\\n\\midrule\n"
    for cells in body:
        yield " & ".join(cells + [""] * (len(heads) - len(cells))) + " \\\\\n"
    yield "\\bottomrule\n\\end{tabular}\n"


def _certificates(store: Store) -> Table:
    cosines = store.config.cosines

    def row(one: ProvedRecord | Failure) -> list[str]:
        record = one if isinstance(one, Failure) else one.record
        cells = [_name(record), "" if record.label is None else str(record.label)]
        if isinstance(record, Failure):
            return [*cells, "", "error"]
        epsilons = [round_down(record.max_epsilon.get(exact_text(cosine), 0.0), 3) for cosine in cosines]
        return [*cells, str(record.prediction), _plain(record.status), *epsilons]

    heads = ["input", "label", "class", "status", *(rf"$\varepsilon$ at {exact_text(cosine)}" for cosine in cosines)]
    return f"lrrl{'r' * len(cosines)}", heads, map(row, prove_all(store))


def _reaches(store: Store) -> Table:
    """One row per input and change, intervals rounded inward."""
    cosines = store.config.cosines

    def row(one: Proved[ToleranceRecord] | Failure) -> list[str]:
        record = one if isinstance(one, Failure) else one.record
        cells = [_name(record), _plain(record.part)]
        if isinstance(record, Failure):
            return [*cells, *[""] * (len(cosines) + 2), "error"]
        known = [record.reaches.get(exact_text(cosine)) for cosine in cosines]
        intervals = [interval_text(interval) for interval in (*known, record.class_reach)]
        return [*cells, _plain(record.change.unit), *intervals, _plain(proof_text(record))]

    heads = ["input", "change", "unit", *(f"cosine {exact_text(cosine)}" for cosine in cosines), "class stays", "proof"]
    return f"lll{'r' * (len(cosines) + 1)}l", heads, map(row, prove_tolerances(store))


_TABLES: dict[str, Callable[[Store], Table]] = {
    "certify": _certificates,
    "tolerance": _reaches,
    "columns": columns_export.table,
}


def _name(record: Record | ToleranceRecord | Failure) -> str:
    """What people call the input; its number if it has no name."""
    return _plain(input_of(record) or record.item)


def _plain(text: Any) -> str:
    """What LaTeX sets as it is, per cent signs and underscores."""
    kept = "".join(letter for letter in str(text) if letter.isalnum() or letter in " -./%_")
    return kept.replace("%", r"\%").replace("_", r"\_")


def _parquet(store: Store, out: Path, rows: Rows) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise AttriboundError("parquet needs pyarrow: pip install 'attribound[parquet]'") from None
    table = [flat(record) for record in rows(store)]
    columns = {name: [row.get(name) for row in table] for name in _columns(table)}
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table(columns), sink)
    write_whole(out, sink.getvalue().to_pybytes())


_WRITERS: dict[str, Callable[[Store, Rows], Iterator[str]]] = {
    "csv": _csv,
    "json": _json,
    "latex": _latex,
    "parquet": lambda store, rows: iter(()),
}
FORMATS = tuple(_WRITERS)
