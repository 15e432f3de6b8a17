"""Sizes are checked before memory is taken, and the message says how to allow more."""

import os

import pytest

from attribound.errors import ArgumentError, StoredDataError
from attribound.file_quota import check_bytes, check_pixels, read_bytes, reason, shown, size_of


def test_a_file_may_grow_to_half_a_gigabyte_or_to_ten_times_itself() -> None:
    check_bytes("it", 2**29, 0)
    check_bytes("it", 10 * 2**30, 2**30)
    with pytest.raises(
        StoredDataError, match="it would take 536,870,913 bytes of memory, expected at most 536,870,912"
    ):
        check_bytes("it", 2**29 + 1, 2**20)


def test_the_variables_win(monkeypatch) -> None:
    monkeypatch.setenv("ATTRIBOUND_MAX_BYTES", "5")
    with pytest.raises(StoredDataError, match="at most 5: set ATTRIBOUND_MAX_BYTES=6 if you trust it"):
        check_bytes("it", 6, 6)
    monkeypatch.setenv("ATTRIBOUND_MAX_PIXELS", "400000000")
    check_pixels("it", 20_000, 20_000)
    monkeypatch.delenv("ATTRIBOUND_MAX_PIXELS")
    with pytest.raises(StoredDataError, match=r"20000 x 20000 pixels, .* set ATTRIBOUND_MAX_PIXELS=400000000"):
        check_pixels("it", 20_000, 20_000)
    monkeypatch.setenv("ATTRIBOUND_MAX_BYTES", "1e9")
    with pytest.raises(ArgumentError, match="expected ATTRIBOUND_MAX_BYTES to be a whole number >= 1, got '1e9'"):
        check_bytes("it", 6, 6)


def test_only_regular_files_are_read(tmp_path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    for name, problem in (("pipe", "not a regular file"), ("nowhere", "no such file"), (".", "a folder")):
        with pytest.raises(StoredDataError, match=problem):
            read_bytes(tmp_path / name)
    (tmp_path / "it").write_bytes(b"abc")
    assert (size_of(tmp_path / "it"), read_bytes(tmp_path / "it")) == (3, b"abc")


def test_names_that_are_no_text_can_be_printed_and_stored() -> None:
    name = shown(os.fsdecode(b"caf\xe9\x1b[2J.png"))
    assert name == r"caf\xe9\x1b[2J.png"
    assert name.encode("utf-8").isascii()
    assert shown("größe.png") == "größe.png"


def test_reasons_are_one_short_line() -> None:
    assert reason(ValueError("a\n b")) == "a b"
    assert reason(MemoryError()) == "MemoryError"
    assert len(reason(ValueError("x" * 10_000))) == 300
