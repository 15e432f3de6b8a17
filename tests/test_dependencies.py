"""What is pinned: one list, with hashes beside it, and no version below what `pyproject.toml` asks for."""

import os
import re
import shutil
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parent.parent
LEAST = {"torch": (2, 10), "pillow": (10, 3), "jinja2": (3, 1, 6), "ray": (2, 52)}
"""The first versions without the holes that matter here."""


def pinned(file: str) -> dict[str, str]:
    lines = (ROOT / file).read_text().splitlines()
    return {line.partition("==")[0].lower().replace("_", "-"): line.partition("==")[2].split()[0] for line in lines}


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def test_hashes_are_of_the_pinned_versions() -> None:
    plain = pinned("constraints.txt")
    assert pinned("constraints-hashed.txt") == {name: version for name, version in plain.items() if name != "torch"}
    for line in (ROOT / "constraints-hashed.txt").read_text().splitlines():
        assert re.fullmatch(r"\S+==\S+ --hash=sha256:[0-9a-f]{64}", line)


def test_no_floor_has_a_known_hole_and_every_pin_is_above_its_floor() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    floors = {line.partition(">=")[0].partition("[")[0].lower(): numbers(line.partition(">=")[2]) for line in asked}
    floors.pop("attribound")  # its own extra
    for name, least in LEAST.items():
        assert floors[name] >= least
    versions = pinned("constraints.txt")
    for name, floor in floors.items():
        assert numbers(versions[name]) >= floor


PYTHON = """#!/bin/sh
# Stands for Python: makes an environment of itself, and as pip tells what it was given.
case "$*" in
  "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  *) echo "pip said why"; for file in $PIP_CONSTRAINT; do test -e "$file" || exit 1; done; exit "${FAIL:-0}" ;;
esac
"""


@pytest.mark.parametrize("fail", [False, True])
def test_make_installs_in_a_folder_with_a_space_and_says_why_if_it_cannot(tmp_path, fail: bool) -> None:
    clone = tmp_path / "a clone"
    clone.mkdir()
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, clone)
    python = tmp_path / "python"
    python.write_text(PYTHON)
    python.chmod(0o755)
    command = ["make", f"PYTHON={python}", ".venv/.ready"]
    done = subprocess.run(
        command,
        cwd=clone,
        env={"PATH": os.environ["PATH"], "FAIL": str(int(fail))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode != 0) is fail, done.stderr
    assert ("pip said why" in done.stderr) is fail


def test_every_python_from_3_11_0_may_install_what_is_pinned() -> None:
    """pymdown-extensions asks for 3.11.5 from 13.0 on; Debian 12 has 3.11.2."""
    assert numbers(pinned("constraints.txt")["pymdown-extensions"]) < (13,)
    for installed in metadata.distributions():
        name = installed.name.lower().replace("_", "-")
        if pinned("constraints.txt").get(name) == installed.version and (
            asked := installed.metadata.get("Requires-Python")
        ):
            for python in ("3.11.0", "3.12.0", "3.13.0"):
                assert python in SpecifierSet(asked), (name, asked)


def test_the_readme_says_what_make_test_installs_beside_python() -> None:
    assert "apt-get install" in (ROOT / "Makefile").read_text().partition("\nbrowser:")[2].partition("\n\n")[0]
    told = (ROOT / "README.md").read_text().partition("## Two commands")[2].partition("\n## ")[0]
    assert "as root" in told
    assert "Chromium" in told
