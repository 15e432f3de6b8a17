"""Freed memory is kept by processes of ours, and only by those."""

import platform
import subprocess
import sys

import pytest

from attribound import memory

GLIBC = platform.libc_ver()[0] == "glibc"
PROGRAM = """
import resource, sys
import numpy as np
from attribound.memory import keep_freed
kept = keep_freed() if sys.argv[1] == "keep" else None
def faults():
    for _ in range(3):
        first, second = np.ones(6_000_000), np.ones(3_000_000)
        del first, second
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        first, second = np.ones(6_000_000), np.ones(3_000_000)
        del first, second
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
print(kept, faults())
"""


def run(*arguments: str) -> list[str]:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.skipif(not GLIBC, reason="only glibc has these options")
def test_buffers_are_not_given_back() -> None:
    usual, kept = run("-c", PROGRAM, "leave"), run("-c", PROGRAM, "keep")
    assert kept[0] == "True"
    # Every new buffer costs a fault per page, or per huge page; one that was kept costs none.
    assert int(kept[1]) < 20 < int(usual[1])


def test_another_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str | None) -> object:
        raise OSError("no such library")

    monkeypatch.setattr(memory.ctypes, "CDLL", missing)
    assert memory.keep_freed() is False
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: object())
    assert memory.keep_freed() is False


def test_older_versions_get_what_they_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Old:
        gnu_get_libc_version = None

        def mallopt(self, option: int, value: int) -> int:
            asked.append((option, value))
            return int(option != -3 or value <= 2**25)

    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: Old())
    assert memory.keep_freed()
    assert asked == [(-3, 2**31 - 1), (-3, 2**25), (-1, -1)]


WHO = """
from attribound import memory
said = []
memory.keep_freed = lambda: said.append(True)
{work}
print(len(said))
"""


@pytest.mark.parametrize(
    ("work", "times"),
    [
        ("import attribound, attribound.runs.engines.local", "0"),
        (
            "from attribound.cli.app import main\ntry: main(['bound', '--help'])\nexcept SystemExit: pass",
            "1",
        ),
    ],
)
def test_commands_keep_memory_and_imports_do_not(work: str, times: str) -> None:
    assert run("-c", WHO.format(work=work))[-1] == times
