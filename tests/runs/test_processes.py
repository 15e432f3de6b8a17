"""Processes that end together, hear no interrupts that are not theirs, and run on processors of other kinds."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from attribound.runs import Store
from attribound.runs.engines import warden
from attribound.runs.engines.warden import descendants
from attribound.runs.runner import Processors
from tests.runs.conftest import records
from tests.runs.test_fire import alive

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def until(condition, seconds: float = 120) -> bool:
    deadline = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return bool(found)


def test_an_interrupt_while_the_command_loads_is_one_line() -> None:
    process = subprocess.Popen([sys.executable, "-m", "attribound", "bound"], stderr=subprocess.PIPE, text=True)
    maps = Path(f"/proc/{process.pid}/maps")
    assert until(lambda: "numpy" in maps.read_text()), "it did not load"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[1] == "interrupted\n"
    assert process.returncode == 130


def test_two_interrupts_while_workers_start_show_no_traceback(tmp_path) -> None:
    """All processes of a terminal hear Ctrl-C; workers that still load modules must not answer it."""
    command = [sys.executable, "-m", "attribound", "certify", "--model", "mnist-cnn-noise", "--data", "mnist-sample"]
    process = subprocess.Popen(
        [*command, "--samples", "64", "--items", "40", "--workers", "2", "--out", str(tmp_path / "run")],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert until(lambda: len(descendants(process.pid)) >= 2), "the workers did not start"
    for _ in range(2):
        time.sleep(0.3)
        os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert "Traceback" not in said
    assert said.endswith("interrupted\n")
    assert process.returncode == 130


def test_the_warden_ends_what_ray_leaves_and_nothing_else(tmp_path) -> None:
    """A parent with a child that looks like Ray's agent and one that does not, both in sessions of their own.

    The warden is the same program with a tenth of its seconds.
    """
    text = Path(warden.__file__).read_text()
    hasty = tmp_path / "warden.py"
    hasty.write_text(re.sub(r"(_SECONDS = )([\d.]+)", lambda found: f"{found[1]}{float(found[2]) / 10}", text))
    assert "_LOOK_SECONDS = 0.1" in hasty.read_text()
    code = (
        "import subprocess, sys, time\n"
        "for name in ('ray::Agent', 'other'):\n"
        "    subprocess.Popen([name, '1000'], executable='/bin/sleep', start_new_session=True)\n"
        "subprocess.Popen([sys.executable, '-I', '-S', sys.argv[1], str(__import__('os').getpid())])\n"
        "time.sleep(1000)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code, str(hasty)])
    lines = dict[str, int]()

    def found() -> bool:
        for pid in descendants(parent.pid):
            lines[Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode()] = pid
        return len([name for name in lines if name in ("ray::Agent", "other", sys.executable)]) == 3

    assert until(found)
    time.sleep(0.5)
    parent.kill()
    parent.wait()
    try:
        assert until(lambda: not alive(lines["ray::Agent"]), 30)
        assert until(lambda: not alive(lines[sys.executable]), 30), "the warden ends, too"
        assert alive(lines["other"])
    finally:
        os.kill(lines["other"], signal.SIGKILL)


def test_a_processor_of_another_kind_is_said_once(path) -> None:
    kind = records(path)[0]["versions"]["cpu"]
    said: list[str] = []
    with Store.append(path) as store:
        record = next(store.records())
        processors = Processors(store, said.append)
        processors.meet(record)
        assert (said, store.recall("processors")) == ([], [kind])
        for _ in range(2):
            processors.meet(replace(record, versions=record.versions | {"cpu": "ABACUS"}))
        assert store.recall("processors") == sorted(["ABACUS", kind])
    assert len(said) == 1
    assert f"started on a processor of another kind ({kind}; now ABACUS)" in said[0]
