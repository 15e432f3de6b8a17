"""A run from somebody else: opening it executes nothing, and its nonsense is an error in one line."""

import json
import sqlite3
import zlib

import pytest
from msgspec.structs import replace

from attribound import cli
from attribound.certificates import encode
from attribound.certification.reopen import Opener
from attribound.errors import ArgumentError, StoredDataError
from attribound.runs import Store, summarise
from attribound.runs.audit import Audit


def change(path, query: str, *values: object) -> None:
    connection = sqlite3.connect(path / "run.sqlite")
    with connection:
        connection.execute(query, values)
    connection.close()


def test_a_read_only_folder_can_be_read(path) -> None:
    path.chmod(0o555)
    try:
        with Store.read(path) as store:
            assert summarise(store).total == 1
    finally:
        path.chmod(0o755)


@pytest.mark.parametrize("text", ["{", "[]", '{"item": "x"}', "null"])
def test_broken_records(text, path) -> None:
    change(path, "UPDATE records SET record = ?", text)
    with Store.read(path) as store, pytest.raises(StoredDataError, match="is not a record of attribound"):
        list(store.records())


@pytest.mark.parametrize(
    ("shape", "content"),
    [
        ("[1000000, 1000000]", b""),
        ("[2]", zlib.compress(b"\0" * 4000)),
        ("[2]", b"no zlib"),
        ('["x"]', b""),
        ("[-1]", b""),
    ],
)
def test_broken_and_exploding_pictures(shape, content, path) -> None:
    change(path, "UPDATE pictures SET shape = ?, float32 = ?", shape, content)
    with Store.read(path) as store, pytest.raises(StoredDataError, match="holds a broken picture"):
        store.pictures(0)


def test_other_formats_and_configurations(path) -> None:
    change(path, "UPDATE meta SET value = '99' WHERE key = 'format'")
    with pytest.raises(StoredDataError, match="has format 99, expected 3"):
        Store.read(path)
    change(path, "UPDATE meta SET value = '1' WHERE key = 'format'")
    with pytest.raises(StoredDataError, match=r"has format 1, which attribound 0\.1 reads"):
        Store.read(path)
    change(path, "UPDATE meta SET value = '3' WHERE key = 'format'")
    change(path, "UPDATE meta SET value = ? WHERE key = 'config'", json.dumps({"model": ["x"]}))
    with pytest.raises(StoredDataError, match="its configuration is broken"):
        Store.read(path)


def test_a_stored_factory_is_not_called(path, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.py").write_text("open('ran', 'w')\n")
    with Store.read(path) as store:
        config = store.config.to_json()
        record = next(store.records())
    evil = replace(record, subject=replace(record.subject, model="evil:make"))
    change(path, "UPDATE meta SET value = ? WHERE key = 'config'", json.dumps(config | {"model": "evil:make"}))
    change(path, "UPDATE records SET record = ?", encode(evil).decode())
    with pytest.raises(ArgumentError, match="which may run code: repeat it as --model if you trust it"):
        Audit([], Opener()).of_run(path)
    for command in ("show", "export"):
        assert cli.run([command, str(path)]) == 0
    assert not (tmp_path / "ran").exists()


def test_exported_text_is_no_formula_and_steers_no_terminal(path, capsys) -> None:
    with Store.read(path) as store:
        record = next(store.records())
    evil = replace(record, reason=" =1+1\x1b]0;evil\x07", versions={"=x\x1b": "@SUM(A1)\u202e"})
    change(path, "UPDATE records SET record = ?", encode(evil).decode())
    capsys.readouterr()
    assert cli.run(["export", str(path), "--all"]) == 0
    out = capsys.readouterr().out
    assert all(letter.isprintable() or letter == "\n" for letter in out)
    assert r"' =1+1\x1b]0;evil\x07" in out
    assert r"'@SUM(A1)\u202e" in out


@pytest.mark.parametrize("key", ["format", "config"])
@pytest.mark.parametrize("value", [b"\xff\xfe", "{", 15 * "[" * 10_000], ids=["no text", "cut off", "too deep"])
def test_facts_that_cannot_be_read(key, value, path) -> None:
    change(path, "UPDATE meta SET value = CAST(? AS TEXT) WHERE key = ?", value, key)
    with (
        pytest.raises(StoredDataError, match=f"is not a run: its {key} cannot be read") as caught,
        Store.read(path) as store,
    ):
        _ = store.config
    assert len(str(caught.value)) < 1000


def test_pictures_of_no_input(path) -> None:
    change(path, "UPDATE pictures SET item = ?", b"m")
    with Store.read(path) as store, pytest.raises(StoredDataError, match="a picture whose item is not a number"):
        store.pictured()
