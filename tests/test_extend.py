"""docs/extend.md, executed: its files and registry lines in a copy of the package, and certificates made with them."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "extend.md").read_text()
BLOCK = re.compile(r'```(\w+) title="([^"]+)"\n(.*?)```', re.DOTALL)
PROGRAM = Path(__file__).parent / "extended.py"


def blocks(kind: str) -> dict[str, str]:
    return {path: text for found, path, text in BLOCK.findall(PAGE) if found == kind}


FILES, REGISTRIES = blocks("python"), blocks("diff")


def added(diff: str) -> list[str]:
    """Lines that a registry gains, without the import that each needs."""
    return [line[1:] for line in diff.splitlines() if line.startswith("+") and " import " not in line]


def applied(text: str, diff: str) -> str:
    """A file with a diff of the page applied: lines go below the one above them, or in place of one removed."""
    lines, place = text.splitlines(), None
    for line in diff.splitlines():
        mark, content = line[:1], line[1:]
        if line == "...":
            place = None
        elif mark in (" ", "-"):
            assert lines.count(content) == 1, f"{content!r} stands {lines.count(content)} times"
            place = lines.index(content)
            if mark == "-":
                del lines[place]
                place -= 1
        else:
            assert place is not None
            place += 1
            lines.insert(place, content)
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def extended(tmp_path_factory) -> Path:
    """A copy of the package with everything of the page in it."""
    home = tmp_path_factory.mktemp("extended")
    skip = shutil.ignore_patterns("__pycache__", "weights", "photos", "*.npz")
    shutil.copytree(ROOT / "src" / "attribound", home / "src" / "attribound", ignore=skip)
    for path, text in FILES.items():
        assert not (home / path).exists(), f"{path} is there already"
        (home / path).write_text(text)
    for path, diff in REGISTRIES.items():
        (home / path).write_text(applied((home / path).read_text(), diff))
    return home


@pytest.fixture(scope="module")
def outcome(extended) -> dict:
    """What the program made with the extended package says."""
    path = os.pathsep.join([str(extended / "src"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-W", "error", str(PROGRAM), str(extended)],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_every_extension_is_one_file_and_one_line() -> None:
    """The table of shares, which conserves alpha, is the one registry where two lines change."""
    assert len(FILES) == 6
    shares = REGISTRIES["src/attribound/bounds/shares.py"]
    others = {path: diff for path, diff in REGISTRIES.items() if diff != shares}
    assert len(others) == len(FILES)
    assert {path: len(added(diff)) for path, diff in others.items()} == dict.fromkeys(others, 1)
    assert sum(eval(value) for value in re.findall(r'^-.*: ([\d /]+),', shares, re.M)) == sum(
        eval(value) for value in re.findall(r'^\+.*: ([\d /]+),', shares, re.M)
    )


def test_the_page_is_written_like_the_house(extended) -> None:
    ruff = shutil.which("ruff", path=str(Path(sys.executable).parent))
    if ruff is None:
        pytest.skip("ruff is not installed")
    files = [str(extended / path) for path in FILES]
    config = str(ROOT / "pyproject.toml")
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run([ruff, *command, "--config", config, *files], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_a_new_law_certifies_and_is_read_back(outcome) -> None:
    law = outcome["law"]
    assert law["noise"] == "mixture:0.5"
    assert law["problems"] == []
    assert 0 < law["norm_lower"] <= law["exact_norm"]
    assert law["max_epsilon"] > 0
    assert law["beyond"] == -1.0, "the map turns over there"
    assert law["rules"] == ["covariance", "tight"] or {"covariance", "tight"} <= set(law["rules"])


def test_the_new_law_is_as_sound_as_the_others(outcome) -> None:
    assert outcome["cases"]["count"] >= 300
    assert outcome["cases"]["violations"] == 0
    assert outcome["cases"]["useful"] > 30
    assert outcome["cases"]["optimist"] > 0, "a factor of two must be noticed"


def test_a_new_rule_and_its_statistic_certify_and_are_read_back(outcome) -> None:
    rule = outcome["rule"]
    assert rule["problems"] == []
    assert "axis" in rule["facts"]
    assert 0 < rule["cone"] <= rule["tight"] + 1e-9, "valid, and weaker than the tight theorem"
    assert rule["forged"], "a forged fact is found"
    assert rule["shares"] <= 1.0


def test_a_new_field_certifies_in_its_own_shape(outcome) -> None:
    field = outcome["field"]
    assert field["shape"] == [4]
    assert field["problems"] == []
    assert field["attribution"] == "bands"
    assert field["max_epsilon"] > 0
    assert field["centred"] == ["centred"]


def test_a_new_attack_attacks(outcome) -> None:
    attack = outcome["attack"]
    assert attack["method"] == "one-feature"
    assert attack["length"] <= attack["epsilon"] * (1 + 1e-6)
    assert attack["cosine"] >= attack["certified"] - 0.1


def test_a_new_reader_reads(outcome) -> None:
    assert outcome["reader"] == {"length": 3, "shape": [4], "name": "npy", "label": None}
