"""Sheets as files: the records of one input's changes, and the maps and pictures that go with them. No torch."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from attribound.certificates.record import FORMAT, read_json
from attribound.certificates.sealed import WRONG, broken_seal, encode_sealed
from attribound.errors import StoredDataError
from attribound.file_quota import read_bytes
from attribound.tolerances import verify
from attribound.tolerances.packed import Packed
from attribound.tolerances.record import ToleranceRecord, convert

_TOLERANCE = 1e-4
"""Maps beside records are in float32."""


class SheetRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="sheet"):
    """A sheet as it is stored.

    Attributes:
        alpha: failure probability of the whole sheet.
        records: one per change, each with its own seal.
        pictures: the plain map, the maps shown, and what was found to break them, in float32.
    """

    format: int = FORMAT
    alpha: float
    records: tuple[ToleranceRecord, ...]
    pictures: dict[str, Packed] = {}
    seal: str = ""


def encode_sheet(sheet: SheetRecord) -> bytes:
    """The sheet as JSON; it and each of its records is sealed."""
    sealed = tuple(msgspec.json.decode(encode_sealed(one), type=ToleranceRecord) for one in sheet.records)
    return encode_sealed(msgspec.structs.replace(sheet, records=sealed))


def read_sheet(path: str | Path) -> SheetRecord:
    """A stored sheet; whatever is wrong with it is one StoredDataError that names the file."""
    try:
        stored = read_json(read_bytes(Path(path)))
        return _convert(stored)
    except WRONG as error:
        raise StoredDataError(f"{path} is not a sheet of attribound: {' '.join(str(error).split())}") from None


def _convert(stored: Any) -> SheetRecord:
    sheet = msgspec.convert(stored, SheetRecord, strict=True)
    for one in stored["records"]:
        convert(one)
    names = [one.part for one in sheet.records]
    if not names or len(set(names)) < len(names):
        raise ValueError("its records are not about different changes")
    for packed in sheet.pictures.values():
        packed.values()
    return sheet


def is_sheet(path: Path) -> bool:
    """Whether a file says that it is a sheet."""
    try:
        if not path.is_file():  # reading a pipe would wait for ever
            return False
        with path.open("rb") as file:
            return b'"sheet"' in file.read(200)
    except (OSError, ValueError):
        return False


def sheet_problems(sheet: SheetRecord) -> list[str]:
    """What a sheet states and does not follow from what it holds."""
    found = [f"{one.part}: {line}" for one in sheet.records for line in verify.problems(one)]
    first = sheet.records[0]
    if any(_about(one) != _about(first) for one in sheet.records):
        found.append("its records are about different inputs, models, classes or cosines")
    if not 0 < sheet.alpha < 1 or sum(one.alpha for one in sheet.records) > sheet.alpha * (1 + 1e-9):
        found.append(f"its records spend more than alpha {sheet.alpha:g}")
    found += broken_seal(sheet, sheet.seal)
    return found + [line for one in sheet.records for line in _about_maps(one, sheet.pictures)]


def _about(record: ToleranceRecord) -> tuple[object, ...]:
    """What all records of a sheet have alike: its table names it once."""
    return record.subject, record.target, record.prediction, record.cosines, record.map_shape


def _about_maps(record: ToleranceRecord, pictures: dict[str, Packed]) -> list[str]:
    plain, shown = pictures.get("plain"), pictures.get(f"shown:{record.part}")
    if plain is None or shown is None:
        return []
    first, second = (packed.values().astype(np.float64).ravel() for packed in (plain, shown))
    lengths = float(np.linalg.norm(first) * np.linalg.norm(second)) if first.shape == second.shape else 0.0
    fidelity = float(first @ second) / lengths if lengths else 0.0
    if record.fidelity <= max(fidelity, 0.0) + _TOLERANCE:
        return []
    return [f"{record.part}: states fidelity {record.fidelity:g}, but its maps have {fidelity:g}"]
