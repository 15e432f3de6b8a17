"""Opening SQLite files that may come from anyone, lie on any medium and be written by another process."""

import contextlib
import sqlite3
from functools import cache
from pathlib import Path

from attribound.errors import AttriboundError, StoredDataError
from attribound.file_quota import reason

SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS records (
    item INTEGER, part TEXT, record TEXT NOT NULL, PRIMARY KEY (item, part)
);
CREATE TABLE IF NOT EXISTS findings (item INTEGER PRIMARY KEY, finding TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS pictures (
    item INTEGER, name TEXT, shape TEXT NOT NULL, float32 BLOB NOT NULL, PRIMARY KEY (item, name)
);
"""
_LONGEST_CELL = 2**28
"""Bytes of one stored text or array."""

UNREADABLE = (sqlite3.Error, UnicodeError)
"""What reading a damaged file raises: SQLite's own messages quote bytes of it, which need not be text."""


def connect(file: Path, *, readonly: bool = False) -> sqlite3.Connection:
    """An opened file that holds our own tables and nothing else."""
    with contextlib.ExitStack() as failing:
        try:
            uri = file.resolve().as_uri() + ("?mode=ro" if readonly else "")
            connection = sqlite3.connect(uri, uri=True, timeout=10)
            failing.callback(connection.close)
            connection.execute("PRAGMA trusted_schema=OFF")
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_CELL)
            connection.execute("SELECT count(*) FROM sqlite_master")
            failing.pop_all()
        except sqlite3.OperationalError:
            if not readonly:
                raise StoredDataError(f"cannot open {file} for writing") from None
            connection = connect_immutable(file)
        except UNREADABLE as error:
            raise StoredDataError(f"{file.parent} is not a run: {reason(error)}") from None
    _refuse_programs(connection, file)
    return connection


def connect_immutable(file: Path) -> sqlite3.Connection:
    """A folder that cannot be written to: nobody else can be writing there either, but somebody may have been."""
    rest = file.with_name(file.name + "-wal")
    if rest.exists() and rest.stat().st_size > 0:
        raise StoredDataError(
            f"{file.parent} cannot be written to and holds records that are not in {file.name} yet ({rest.name}): "
            "copy the folder to where it can be written, or make the copy with `attribound copy`"
        )
    return sqlite3.connect(file.resolve().as_uri() + "?immutable=1", uri=True)


def _refuse_programs(connection: sqlite3.Connection, file: Path) -> None:
    """A run is our own plain tables: a view, a trigger or a computed column is a program, and may never end."""
    try:
        rows = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    except UNREADABLE as error:
        connection.close()
        raise StoredDataError(f"{file.parent} is not a run: {reason(error)}") from None
    for kind, name, text in rows:
        if (kind, name, text) not in _plain_tables():
            connection.close()
            raise StoredDataError(f"{file.parent} is not a run: it holds a {kind} {name!r} of its own, maybe a program")


@cache
def _plain_tables() -> frozenset[tuple[str, str, str | None]]:
    """Everything that the schema of a run may say."""
    with contextlib.closing(sqlite3.connect(":memory:")) as fresh:
        fresh.executescript(SCHEMA)
        return frozenset(fresh.execute("SELECT type, name, sql FROM sqlite_master").fetchall())


def locked(file: Path) -> sqlite3.Connection:
    """An exclusive lock that ends with the process, however it ends."""
    try:
        lock = sqlite3.connect(file, timeout=0, isolation_level=None)
    except sqlite3.Error as error:
        raise StoredDataError(why(file.parent, error)) from None
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.DatabaseError as error:
        with contextlib.suppress(sqlite3.Error):
            lock.close()
        if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise StoredDataError(why(file.parent, error)) from None
        raise AttriboundError(f"{file.parent} is being written by another process") from None
    return lock


_BLAMELESS = frozenset(
    {sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY}
)
"""What is wrong with the medium, not with the run."""


def why(path: Path, error: sqlite3.Error) -> str:
    """Why a run cannot be written; the low byte of SQLite's code says what kind of reason it is."""
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in _BLAMELESS:
        return f"cannot write {path}: {error}; what it holds is safe, and the same command goes on"
    return f"{path} is damaged: {error}"
