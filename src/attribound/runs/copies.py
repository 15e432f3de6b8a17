"""Safe copies of runs, also while they are written."""

import contextlib
import sqlite3
from pathlib import Path

from attribound.errors import StoredDataError
from attribound.runs.connection import why
from attribound.runs.store import Store


def copy_run(source: Path, out: Path) -> int:
    """Copy a run with SQLite's own backup, which is whole also while the run is written; returns the record count."""
    with Store.read_any(source) as store:
        try:
            if out.is_symlink() or (out.exists() and (not out.is_dir() or any(out.iterdir()))):
                raise StoredDataError(f"expected a new folder for the copy, but {out} exists")
            out.mkdir(parents=True, exist_ok=True)
            return _back_up(store.connection, out / store.file.name)
        except OSError as error:
            raise StoredDataError(f"cannot write {out}: {error.strerror or error}") from None


def _back_up(connection: sqlite3.Connection, file: Path) -> int:
    """All or nothing: half a copy is removed again, with its folder."""
    try:
        with contextlib.closing(sqlite3.connect(file)) as target:
            connection.backup(target)
            target.execute("PRAGMA journal_mode=DELETE")
            return int(target.execute("SELECT count(*) FROM records").fetchone()[0])
    except BaseException as error:
        for path in file.parent.iterdir():
            path.unlink()
        file.parent.rmdir()
        if isinstance(error, sqlite3.Error):
            raise StoredDataError(why(file.parent, error)) from None
        raise
