"""One way to write a file: whole or not at all, and never over something that is not a file."""

import errno
import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path

from attribound.errors import StoredDataError
from attribound.sanitise import printable


def write_whole(path: str | Path, content: str | bytes | Iterable[bytes]) -> Path:
    """Write a file that appears whole or not at all.

    Symbolic links are followed. A device or a pipe is written into, never replaced. The temporary file has a name of
    its own beside the target and is removed when anything fails.

    Args:
        path: the file.
        content: text (stored as UTF-8), bytes, or pieces of bytes made as they are written.

    Returns:
        The path as given.
    """
    target = check_target(path)
    data = [utf8(content)] if isinstance(content, str) else [content] if isinstance(content, bytes) else content
    try:
        if target.exists() and not target.is_file():
            with target.open("wb") as special:
                special.writelines(data)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            _replace(target, data)
    except OSError as error:
        raise StoredDataError(f"cannot write {path}: {error.strerror or error}") from None
    return Path(path)


def utf8(text: str) -> bytes:
    """UTF-8. What it cannot hold, such as parts of a file's name that are no text, is written as its code."""
    return text.encode(errors="backslashreplace")


def check_target(path: str | Path) -> Path:
    """Where a path leads, if a file can be written there: to be asked before long work, and with nothing written."""
    if "\0" in os.fspath(path):  # Python's own words for it differ between versions
        raise StoredDataError(f"cannot write {printable(str(path))}: its name has a null byte")
    try:
        target = Path(os.path.realpath(path))
        if target.is_dir():
            raise StoredDataError(f"expected a file to write, but {path} is a folder")
        above = next(folder for folder in target.parents if os.path.lexists(folder))
        if target.is_symlink():  # links that lead to each other: nothing is there
            raise StoredDataError(f"cannot write {path}: {os.strerror(errno.ELOOP)}")
        if not above.is_dir():
            raise StoredDataError(f"cannot write {path}: {above} is not a folder")
    except (OSError, ValueError) as error:
        if isinstance(error, StoredDataError):
            raise
        raise StoredDataError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from None
    return target


MOST_BYTES = 512 * 2**20
"""A text file that is read whole is never larger than this."""


def read_text(path: str | Path) -> str:
    """A text file, if it is one of reasonable size."""
    file = Path(path)
    try:
        if not file.exists():
            raise StoredDataError(f"no such file: {path}")
        if not file.is_file():
            raise StoredDataError(f"expected a file, got {path}")
        if (size := file.stat().st_size) > MOST_BYTES:
            raise StoredDataError(f"{path} has {size:,} bytes, expected at most {MOST_BYTES:,}")
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise StoredDataError(f"{path} is not a text file") from None
    except OSError as error:
        raise StoredDataError(f"cannot read {path}: {error.strerror or error}") from None


def _replace(target: Path, data: Iterable[bytes]) -> None:
    partial = target.with_name(f".{target.name[:200]}.{secrets.token_hex(6)}.partial")
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else mode)
        with os.fdopen(descriptor, "wb") as file:
            if mode is not None:  # the umask is for new files
                os.fchmod(descriptor, mode)
            file.writelines(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
