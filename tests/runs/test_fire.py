"""Hold under fire: parents that die, files that are programs, logs that were left, copies while a run is written."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from attribound.errors import StoredDataError
from attribound.runs import Store
from attribound.runs.connection import connect_immutable
from attribound.runs.copies import copy_run
from tests.runs.conftest import records

START = """
import sys
from attribound import cli
cli.run(["certify", "--model", "mnist-cnn-noise", "--data", "mnist-sample", "--samples", "64", "--items", "40",
         "--workers", "2", "--out", sys.argv[1]])
"""


def descendants(parent: int) -> list[int]:
    """Processes below a process, by /proc."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(stat.parent.name)] = int(words[1])
    found, waiting = [], [parent]
    while waiting:
        children = [child for child, above in parents.items() if above == waiting[0]]
        found, waiting = found + children, waiting[1:] + children
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_workers_end_with_a_parent_that_is_killed_while_they_start(tmp_path) -> None:
    process = subprocess.Popen([sys.executable, "-c", START, str(tmp_path / "run")], stderr=subprocess.DEVNULL)
    deadline, workers = time.monotonic() + 120, list[int]()
    while not workers and time.monotonic() < deadline:
        time.sleep(0.05)
        workers = descendants(process.pid)
    assert workers, "the workers did not start"
    time.sleep(0.3)
    workers = descendants(process.pid) or workers
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 60
    while any(alive(pid) for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not [pid for pid in workers if alive(pid)]


@pytest.mark.parametrize(
    "program",
    [
        "CREATE VIEW endless AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
        "CREATE TRIGGER late AFTER INSERT ON records BEGIN DELETE FROM records; END",
        "ALTER TABLE records ADD COLUMN large TEXT AS (printf('%.*c', 1000000000, 'x'))",
        "CREATE INDEX slow ON records (length(record))",
    ],
)
def test_runs_that_hold_programs_are_refused(program, path) -> None:
    connection = sqlite3.connect(path / "run.sqlite")
    connection.execute(program)
    connection.commit()
    connection.close()
    with pytest.raises(StoredDataError, match=r"is not a run: it holds a (view|trigger|table|index)"):
        Store.read(path)
    with pytest.raises(StoredDataError, match="of its own, maybe a program"):
        Store.append(path)


def test_records_in_a_leftover_log_are_not_overlooked(path) -> None:
    """On a read-only medium SQLite would ignore the write-ahead log, and its records would vanish."""
    (path / "run.sqlite-wal").write_bytes(b"x" * 100)
    with pytest.raises(StoredDataError, match=r"holds records that are not in run\.sqlite yet"):
        connect_immutable(path / "run.sqlite")
    (path / "run.sqlite-wal").write_bytes(b"")
    connect_immutable(path / "run.sqlite").close()


def test_a_finished_run_is_whole_without_its_log_though_a_reader_is_open(make, path, tmp_path) -> None:
    with Store.read(path) as reader:
        wanted = list(reader.records())
        make(items=3)
        alone = tmp_path / "alone"
        alone.mkdir()
        (alone / "run.sqlite").write_bytes((path / "run.sqlite").read_bytes())
        assert len(wanted) == 1
    assert records(alone) == records(path)
    assert len(records(alone)) == 3


def test_a_copy_is_whole_while_the_run_is_written(make, tmp_path) -> None:
    path = make(items=2)
    with Store.append(path) as writer:
        writer.note("fact", 1)
        assert copy_run(path, tmp_path / "copy") == 2
    assert records(tmp_path / "copy") == records(path)
    with pytest.raises(StoredDataError, match="expected a new folder for the copy"):
        copy_run(path, tmp_path / "copy")


def test_a_run_that_was_killed_before_it_held_anything_begins_anew(make, tmp_path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "lock.sqlite").write_bytes(b"")
    assert len(records(make(items=1))) == 1


class Media:
    """A connection whose writes fail as those to a full disk or a read-only medium do."""

    def __init__(self, connection: sqlite3.Connection, code: int, text: str) -> None:
        self._connection, self._code, self._text = connection, code, text

    def __getattr__(self, name):
        return getattr(self._connection, name)

    def __enter__(self):
        return self._connection.__enter__()

    def __exit__(self, *reason):
        return self._connection.__exit__(*reason)

    def execute(self, query, *values):
        if query.startswith("INSERT"):
            error = sqlite3.OperationalError(self._text)
            error.sqlite_errorcode = self._code
            raise error
        return self._connection.execute(query, *values)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (sqlite3.SQLITE_FULL, "database or disk is full"),
        (sqlite3.SQLITE_READONLY, "attempt to write a readonly database"),
        (sqlite3.SQLITE_IOERR | 3 << 8, "disk I/O error"),
    ],
)
def test_a_full_disk_names_the_run_and_loses_nothing(code, text, path) -> None:
    with Store.append(path) as store:
        store._connection = Media(store._connection, code, text)
        with pytest.raises(StoredDataError, match=rf"cannot write .*run: {text}; what it holds is safe"):
            store.note("fact", 1)
    assert len(records(path)) == 1


def test_half_a_copy_is_removed(path, tmp_path, monkeypatch) -> None:
    real = sqlite3.connect

    def full(file, *arguments, **options):
        connection = real(file, *arguments, **options)
        if "copy" in str(file):
            connection.execute("PRAGMA max_page_count=2")  # a disk of eight kilobytes
        return connection

    monkeypatch.setattr(sqlite3, "connect", full)
    with pytest.raises(StoredDataError, match=r"cannot write .*copy: database or disk is full"):
        copy_run(path, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_a_row_that_is_never_found_is_given_up(path, monkeypatch) -> None:
    monkeypatch.setattr("attribound.runs.store._PATIENCE_SECONDS", 0.0)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    with Store.read(path) as store, pytest.raises(StoredDataError, match="holds a broken table: interrupted"):
        list(store._select(endless))
