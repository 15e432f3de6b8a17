"""What is pinned: one list, with hashes beside it, and no version below what `pyproject.toml` asks for."""

import re
import tomllib
from pathlib import Path

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
