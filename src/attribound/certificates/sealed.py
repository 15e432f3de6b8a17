"""Records as they are stored: JSON with a seal over everything else; what is wrong with one is said in one line."""

import hashlib

import msgspec

from attribound.errors import StoredDataError

WRONG = (ValueError, TypeError, RecursionError, OverflowError)
"""What reading a record that is none can raise."""


def encode_sealed(record: msgspec.Struct) -> bytes:
    """The record as JSON, sealed; numbers keep every digit."""
    return msgspec.json.encode(msgspec.structs.replace(record, seal=seal_of(record)))


def seal_of(record: msgspec.Struct) -> str:
    """SHA-256 over everything else in the record."""
    return hashlib.sha256(msgspec.json.encode(msgspec.structs.replace(record, seal=""))).hexdigest()


def broken_seal(record: msgspec.Struct, seal: str) -> list[str]:
    """A line if a record, or a file of records, has a seal that is not its own."""
    if seal in ("", seal_of(record)):
        return []
    return ["its seal does not fit its content: the file was changed after it was written"]


def no_record(name: str, error: Exception) -> StoredDataError:
    """What is wrong with a record, in one line that names its file."""
    return StoredDataError(f"{name} is not a record of attribound: {' '.join(str(error).split())}")
