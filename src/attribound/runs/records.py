"""Records of every kind, as the store keeps them."""

from attribound.certificates import record as certificate
from attribound.certificates.record import Failure, Record
from attribound.certificates.sealed import encode_sealed
from attribound.tolerances import record as tolerance
from attribound.tolerances.columns import record as columns
from attribound.tolerances.columns.record import ColumnsRecord
from attribound.tolerances.record import ToleranceRecord

Stored = Record | ToleranceRecord | ColumnsRecord | Failure


def encode(record: Stored) -> bytes:
    """The record as JSON, sealed."""
    return certificate.encode(record) if isinstance(record, Record | Failure) else encode_sealed(record)


def decode(text: str | bytes, name: str) -> Stored:
    """The record in a stored text; a StoredDataError that names the file if it is none."""
    if columns.is_columns(text):
        return columns.decode(text, name)
    return tolerance.decode(text, name) if tolerance.is_tolerance(text) else certificate.decode(text, name)


def input_of(record: Stored) -> str:
    """What people call the input; empty if it has no name."""
    return record.input if isinstance(record, Failure) else record.subject.input


def part_of(record: Stored) -> str:
    """Which part of what is said about an input a record is; empty if it says everything."""
    return "" if isinstance(record, Record) else record.part
