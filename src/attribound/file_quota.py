"""How much one file may ask for: checked before memory is taken, raised by an environment variable.

A file of a hundred bytes can ask for gigabytes: a compressed archive, a picture of one pixel by a million, a header
that lies. Every reader asks here first, with what the file promises.
"""

import os
import stat
from pathlib import Path

from attribound.errors import ArgumentError, StoredDataError
from attribound.sanitise import visible

BYTES_VARIABLE = "ATTRIBOUND_MAX_BYTES"
PIXELS_VARIABLE = "ATTRIBOUND_MAX_PIXELS"
_FREE_BYTES = 2**29
_GROWTH = 10
_MOST_PIXELS = 100_000_000
_LONGEST = 300


def check_bytes(what: str, wanted: int, stored: int) -> None:
    """Raise StoredDataError if a file wants more memory than it may have.

    Args:
        what: the file, for the message.
        wanted: bytes that reading it would take.
        stored: bytes that it has; without the variable, a file may grow to half a gigabyte or to ten times itself.
    """
    most = _variable(BYTES_VARIABLE) or max(_FREE_BYTES, _GROWTH * stored)
    if wanted > most:
        raise StoredDataError(
            f"{what} would take {wanted:,} bytes of memory, expected at most {most:,}: "
            f"set {BYTES_VARIABLE}={wanted} if you trust it"
        )


def check_pixels(what: str, width: int, height: int) -> None:
    """Raise StoredDataError if a picture has more pixels than it may have."""
    most = _variable(PIXELS_VARIABLE) or _MOST_PIXELS
    if width * height > most:
        raise StoredDataError(
            f"{what} would be {width} x {height} pixels, expected at most {most:,} in all: "
            f"set {PIXELS_VARIABLE}={width * height} if you trust it"
        )


def size_of(path: Path) -> int:
    """Bytes of a regular file; raises StoredDataError for anything else (a FIFO would make a reader wait for ever)."""
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else str(error)
        raise StoredDataError(f"cannot read {shown(path)}: {reason}") from None
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise StoredDataError(f"cannot read {shown(path)}: it is {kind}")
    return status.st_size


def read_bytes(path: Path) -> bytes:
    """A regular file's content."""
    size = size_of(path)
    check_bytes(shown(path), size, size)
    try:
        return path.read_bytes()
    except OSError as error:
        raise StoredDataError(f"cannot read {shown(path)}: {error.strerror}") from None


def shown(path: str | Path) -> str:
    """A path that can be printed and stored: bytes that are no text and control characters are escaped."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return visible(text)


def reason(error: Exception) -> str:
    """Why a decoder failed, in one line of bounded length: some print the file that they could not read."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _variable(name: str) -> int | None:
    text = os.environ.get(name, "")
    if not text:
        return None
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise ArgumentError(f"expected {name} to be a whole number >= 1, got {text!r}")
    return int(text)
