"""The store of a run: one SQLite file in the run's folder. Only numbers, text and arrays; opening executes nothing."""

import contextlib
import json
import sqlite3
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar, final

import msgspec
import numpy as np

from attribound.certificates.finding import Finding
from attribound.certificates.record import READERS, Failure, Record, check_evidence, newer, parse
from attribound.checks import FloatArray
from attribound.errors import AttriboundError, StoredDataError
from attribound.file_quota import reason
from attribound.runs.config import RunConfig
from attribound.runs.connection import SCHEMA, UNREADABLE, connect, locked, why
from attribound.runs.records import Stored, decode, encode, part_of
from attribound.runs.tasks import Outcome
from attribound.tolerances.columns.finding import ColumnsFinding
from attribound.tolerances.columns.record import ColumnsRecord, is_columns
from attribound.tolerances.finding import ToleranceFinding
from attribound.tolerances.record import ToleranceRecord, is_tolerance

S = TypeVar("S", bound=Stored)
FORMAT = 3
_FILE, _LOCK = "run.sqlite", "lock.sqlite"
_MOST_NUMBERS = 50_000_000
"""A stored picture never has more values than this: a small file may not unpack into all memory."""
_Kind = TypeVar("_Kind", ToleranceRecord, ColumnsRecord)
_Found = TypeVar("_Found")
_PATIENCE_SECONDS = 30.0
"""Abort queries slower than this: only a malicious file needs them."""


def is_run(path: Path) -> bool:
    """Whether a folder holds a run."""
    return (path / _FILE).is_file()


@final
class Store:
    """Records, findings and pictures of one run.

    Every record is its own transaction in write-ahead mode: a process killed at any moment loses only what it had
    not finished.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: sqlite3.Connection | None = None) -> None:
        self.path, self._connection, self._lock = path, connection, lock
        self._asked = time.monotonic()
        connection.set_progress_handler(lambda: time.monotonic() - self._asked > _PATIENCE_SECONDS, 100_000)

    # --- opening -------------------------------------------------------------------------------------------

    @classmethod
    def create(cls, path: Path, config: RunConfig) -> "Store":
        """Open a run for writing: make it, or continue it if its configuration is the same."""
        if path.exists() and not path.is_dir():
            raise StoredDataError(f"expected --out to be a folder, but {path} is a file")
        # A process killed, or a disk full, at the very beginning leaves a lock and nothing else: that is no stranger's.
        if path.is_dir() and not is_run(path) and any(not file.name.startswith(_LOCK) for file in path.iterdir()):
            raise StoredDataError(f"{path} is a folder with other files: choose a new one for the run")
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoredDataError(f"cannot write {path}: {error.strerror or error}") from None
        lock = locked(path / _LOCK)
        try:
            store = cls(path, connect(path / _FILE), lock)
        except BaseException:
            lock.close()
            raise
        try:
            with store._writing():
                store._connection.execute("PRAGMA journal_mode=WAL")
                store._connection.execute("PRAGMA synchronous=NORMAL")
                store._connection.executescript(SCHEMA)
                store._continue(config)
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    def append(cls, path: Path) -> "Store":
        """Open an existing run for writing under its own configuration."""
        with cls.read_any(path) as stored:
            config = stored.config
        return cls.create(path, config)

    @classmethod
    def read(cls, path: Path) -> "Store":
        """Open a run of certificates for reading only; it may be running."""
        store = cls.read_any(path)
        try:
            store.check_certificates()
        except BaseException:
            store.close()
            raise
        return store

    def check_certificates(self) -> None:
        """Raise if this is a run of another kind."""
        if self.config.kind != "certify":
            raise StoredDataError(
                f"{self.path} is a run of tolerances, and this is about certificates: show, report, export (csv, json, "
                "latex, parquet), verify, attack, gate and compare read it"
            )

    @classmethod
    def read_any(cls, path: Path) -> "Store":
        """Open a run of any kind for reading only."""
        if not is_run(path):
            raise StoredDataError(
                f"{path} is not a run: expected a folder written by `attribound certify` or `attribound tolerance`"
            )
        store = cls(path, connect(path / _FILE, readonly=True))
        try:
            store._check()
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Release the file and the lock; a finished run is one plain file, readable from any medium."""
        if self._lock is not None:
            for pragma in ("wal_checkpoint(TRUNCATE)", "journal_mode=DELETE"):
                with contextlib.suppress(sqlite3.Error):  # a reader is still there: then all is in the file, at least
                    self._connection.execute(f"PRAGMA {pragma}").fetchall()
        for connection in (self._connection, self._lock):
            if connection is not None:
                connection.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _continue(self, config: RunConfig) -> None:
        if self._get("config") is not None or self.done():
            self._check()
            if difference := self.config.difference(config):
                raise AttriboundError(f"{self.path} was made differently ({difference}): choose another --out")
            config = config.including(self.config)
        with self._writing():
            self._put("format", FORMAT)
            self._put("config", config.to_json())

    def _check(self) -> None:
        stored = self._get("format")
        if stored in READERS:
            raise StoredDataError(
                f"{self.path} has format {stored}, which attribound {READERS[stored]} reads, not this one"
            )
        if stored != FORMAT:
            raise StoredDataError(f"{self.path} has format {stored!r}, expected {FORMAT}{newer(stored)}")

    # --- writing -------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """One transaction; a full disk, a read-only medium or a damaged file is one line that names the run."""
        try:
            self._asked = time.monotonic()
            with self._connection:
                yield
        except sqlite3.DatabaseError as error:
            raise StoredDataError(why(self.path, error)) from None

    def add(self, outcome: Outcome) -> None:
        """Store a record and its pictures, all or nothing."""
        with self._writing():
            text = encode(outcome.record).decode()
            row = (outcome.item, part_of(outcome.record), text)
            self._connection.execute("INSERT OR REPLACE INTO records VALUES (?, ?, ?)", row)
            for name, values in outcome.pictures.items():
                self._add_picture(outcome.item, name, values)

    def add_finding(self, finding: Finding, pictures: dict[str, FloatArray]) -> None:
        """Store what an attack found on one input, with pictures: the attacked map, the change."""
        with self._writing():
            text = msgspec.json.encode(finding).decode()
            self._connection.execute("INSERT OR REPLACE INTO findings VALUES (?, ?)", (finding.item, text))
            for name, values in pictures.items():
                self._add_picture(finding.item, name, values)

    def add_findings(self, item: int, found: Sequence[ColumnsFinding] | Sequence[ToleranceFinding]) -> None:
        """Store all that attacks found on the statements about one input."""
        with self._writing():
            text = msgspec.json.encode(found).decode()
            self._connection.execute("INSERT OR REPLACE INTO findings VALUES (?, ?)", (item, text))

    def note(self, key: str, value: Any) -> None:
        """Remember a fact about the run."""
        with self._writing():
            self._put(key, value)

    def _add_picture(self, item: int, name: str, values: FloatArray) -> None:
        content = zlib.compress(np.ascontiguousarray(values, "<f4").tobytes(), 6)
        row = (item, name, json.dumps(list(values.shape)), content)
        self._connection.execute("INSERT OR REPLACE INTO pictures VALUES (?, ?, ?, ?)", row)

    def _put(self, key: str, value: Any) -> None:
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, json.dumps(value)))

    # --- reading -------------------------------------------------------------------------------------------

    @property
    def config(self) -> RunConfig:
        """The run's configuration."""
        return RunConfig.from_json(self._get("config") or {}, str(self.path))

    @property
    def connection(self) -> sqlite3.Connection:
        """The file, opened."""
        return self._connection

    @property
    def file(self) -> Path:
        """The file that holds everything."""
        return self.path / _FILE

    def recall(self, key: str) -> Any:
        """A remembered fact, or None."""
        return self._get(key)

    def names(self, key: str) -> list[str]:
        """Remembered names, of "classes" or "features"; may be none."""
        stored = self._get(key)
        return [str(name) for name in stored] if isinstance(stored, list) else []

    def done(self) -> set[int]:
        """The inputs that have a record."""
        return {int(item) for (item,) in self._select("SELECT item FROM records")}

    def stored(self) -> Iterator[Stored]:
        """All records in order of their item and part, one at a time."""
        for item, part, text in self._select("SELECT item, part, record FROM records ORDER BY item, part"):
            yield self._record(item, part, text)

    def records(self) -> Iterator[Record | Failure]:
        """All records of a run of certificates."""
        for one in self.unchecked():
            if isinstance(one, Record):
                check_evidence(one, f"item {one.item} of {self.path}")
            yield one

    def unchecked(self) -> Iterator[Record | Failure]:
        """The same, to look at the evidence of many records at once."""
        for item, part, text in self._select("SELECT item, part, record FROM records ORDER BY item, part"):
            if is_tolerance(text) or is_columns(text):
                raise StoredDataError(f"{self.path} holds a tolerance among its certificates (item {item})")
            yield self._in_place(item, part, parse(text, f"item {item} of {self.path}"))

    def only(self, kind: type[_Kind]) -> Iterator[_Kind | Failure]:
        """All records, if they are of one kind or failures."""
        for one in self.stored():
            if not isinstance(one, (kind, Failure)):
                raise StoredDataError(f"{self.path} holds a record of another kind (item {one.item})")
            yield one

    def texts(self) -> Iterator[str]:
        """All records as they are stored, in order of their item: what hashes and copies are made of."""
        for (text,) in self._select("SELECT record FROM records ORDER BY item, part"):
            yield str(text)

    def record(self, item: int, part: str = "") -> Stored | None:
        """One record."""
        rows = self._select("SELECT item, part, record FROM records WHERE item = ? AND part = ?", item, part)
        return next((self._record(*row) for row in rows), None)

    def findings(self) -> dict[int, Finding]:
        """What attacks found, by item."""
        return self._findings(Finding)

    def columns_findings(self) -> dict[int, list[ColumnsFinding]]:
        """What attacks found on statements about rows, by item."""
        return self._findings(list[ColumnsFinding])

    def tolerance_findings(self) -> dict[int, list[ToleranceFinding]]:
        """What attacks found on claims about changes, by item."""
        return self._findings(list[ToleranceFinding])

    def _findings(self, kind: type[_Found]) -> dict[int, _Found]:
        found: dict[int, _Found] = {}
        for item, text in self._select("SELECT item, finding FROM findings ORDER BY item"):
            try:
                found[int(item)] = msgspec.json.decode(text, type=kind)
            except (msgspec.MsgspecError, TypeError, UnicodeDecodeError) as error:
                raise StoredDataError(f"{self.path} holds a broken finding (item {item}): {error}") from None
        return found

    def pictured(self, name: str = "%") -> list[int]:
        """The inputs with pictures; only with those of a name, which may end in %, if one is given."""
        query = "SELECT DISTINCT item FROM pictures WHERE name LIKE ? ORDER BY item"
        items = [item for (item,) in self._select(query, name)]
        if not all(isinstance(item, int) for item in items):
            raise StoredDataError(f"{self.path} holds a picture whose item is not a number")
        return items

    def pictures(self, item: int, *names: str) -> dict[str, FloatArray]:
        """Pictures of one input by name (input, plain, smoothed, attacked, change): these, or all of them."""
        rows = self._select("SELECT name, shape, float32 FROM pictures WHERE item = ?", item)
        return {str(name): self._unpack(shape, content) for name, shape, content in rows if not names or name in names}

    def _unpack(self, shape: str, content: bytes) -> FloatArray:
        try:
            sizes = [int(size) for size in json.loads(shape)]
            wanted = 4 * int(np.prod(sizes, dtype=object))
            if not 0 <= wanted <= 4 * _MOST_NUMBERS:
                raise ValueError(f"shape {sizes}")
            data = zlib.decompressobj().decompress(content, wanted + 1)
            return np.frombuffer(data, "<f4").reshape(sizes).astype(np.float64)
        except (ValueError, TypeError, zlib.error) as error:
            raise StoredDataError(f"{self.path} holds a broken picture: {error}") from None

    def _record(self, item: Any, part: Any, text: Any) -> Stored:
        return self._in_place(item, part, decode(text, f"item {item} of {self.path}"))

    def _in_place(self, item: Any, part: Any, record: S) -> S:
        if (record.item, part_of(record)) != (item, part):
            raise StoredDataError(f"{self.path} holds the record of item {record.item} in place of item {item}")
        return record

    def _select(self, query: str, *values: int | str) -> Iterator[tuple[Any, ...]]:
        try:
            self._asked = time.monotonic()
            for row in self._connection.execute(query, values):
                yield row
                self._asked = time.monotonic()
        except UNREADABLE as error:
            raise StoredDataError(f"{self.path} holds a broken table: {reason(error)}") from None

    def _get(self, key: str) -> Any:
        try:
            self._asked = time.monotonic()
            row = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
            return None if row is None else json.loads(row[0])
        except (*UNREADABLE, ValueError, TypeError, RecursionError) as error:
            raise StoredDataError(f"{self.path} is not a run: its {key} cannot be read: {reason(error)}") from None
