"""One way to write a file: whole or not at all."""

import os
import resource
import signal
import stat

import pytest

from attribound import files
from attribound.errors import StoredDataError
from attribound.files import check_target, read_text, write_whole


def test_written_and_read_back(tmp_path) -> None:
    path = tmp_path / "deep" / "er" / "x.txt"
    assert write_whole(path, "grüße\n") == path
    assert read_text(path) == "grüße\n"
    assert write_whole(path, b"\x00\x01").read_bytes() == b"\x00\x01"
    assert [one.name for one in path.parent.iterdir()] == ["x.txt"], "no temporary files stay"


def test_a_failure_leaves_the_old_file(tmp_path, monkeypatch) -> None:
    path = write_whole(tmp_path / "x.txt", "old")

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StoredDataError, match=r"cannot write .*x\.txt: No space left on device"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_an_interrupt_leaves_the_old_file_too(tmp_path, monkeypatch) -> None:
    path = write_whole(tmp_path / "x.txt", "old")

    def interrupt(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_links_are_followed_and_rights_kept(tmp_path) -> None:
    target, link = write_whole(tmp_path / "target.txt", "old"), tmp_path / "link.txt"
    target.chmod(0o640)
    link.symlink_to(target)
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_the_umask_is_for_new_files_only(tmp_path, umask: int) -> None:
    before = os.umask(umask)
    try:
        path = write_whole(tmp_path / "x.txt", "old")
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
        path.chmod(0o664)
        write_whole(path, "new")
        assert stat.S_IMODE(path.stat().st_mode) == 0o664
    finally:
        os.umask(before)


def test_a_name_that_no_text_can_hold_is_written_as_its_code(tmp_path) -> None:
    assert write_whole(tmp_path / "x.txt", "run-\udcff\n").read_text() == "run-\\udcff\n"


def test_a_device_is_written_into_and_not_replaced() -> None:
    write_whole("/dev/null", "gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_long_name(tmp_path) -> None:
    assert read_text(write_whole(tmp_path / ("n" * 250), "x")) == "x"


def test_what_cannot_be_written_or_read_is_one_line(tmp_path, monkeypatch) -> None:
    with pytest.raises(StoredDataError, match=r"expected a file to write, but .* is a folder"):
        write_whole(tmp_path, "x")
    with pytest.raises(StoredDataError, match="no such file: "):
        read_text(tmp_path / "none")
    with pytest.raises(StoredDataError, match="expected a file, got "):
        read_text(tmp_path)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(StoredDataError, match="is not a text file"):
        read_text(tmp_path / "bytes")
    monkeypatch.setattr(files, "MOST_BYTES", 10)
    with pytest.raises(StoredDataError, match="has 11 bytes, expected at most 10"):
        read_text(write_whole(tmp_path / "large", "x" * 11))


def test_links_in_a_circle_stay_links(tmp_path) -> None:
    link = tmp_path / "loop"
    link.symlink_to("loop")
    with pytest.raises(StoredDataError, match=r"cannot write .*loop: Too many levels of symbolic links"):
        write_whole(link, "x")
    assert link.is_symlink()


def test_where_nothing_can_be_written_is_known_before_the_work(tmp_path) -> None:
    assert check_target(tmp_path / "new" / "x") == tmp_path / "new" / "x"
    assert not (tmp_path / "new").exists()
    (tmp_path / "file").write_text("")
    for path, problem in (
        (tmp_path, "is a folder"),
        (tmp_path / "file" / "x", "is not a folder"),
        (tmp_path / ("n" * 300), "File name too long"),
        ("a\0b", "null byte"),
    ):
        with pytest.raises(StoredDataError, match=problem):
            check_target(path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_is_named() -> None:
    with pytest.raises(StoredDataError, match="cannot write /dev/full: No space left on device"):
        write_whole("/dev/full", "x")


def test_a_file_larger_than_allowed_is_named_and_removed(tmp_path) -> None:
    """What a full disk does, without filling one: the kernel refuses bytes beyond a limit of this process."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.raises(StoredDataError, match=r"cannot write .*x\.bin: File too large"):
            write_whole(tmp_path / "x.bin", bytes(20_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert list(tmp_path.iterdir()) == []
