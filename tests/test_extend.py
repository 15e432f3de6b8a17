"""docs/extend, executed: a package outside of ours, found by its entry points, and certificates made with it."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = {path.stem: path.read_text() for path in sorted((ROOT / "docs" / "extend").glob("*.md"))}
BLOCK = re.compile(r'```(\w+) title="([^"]+)"\n(.*?)```', re.DOTALL)
PROGRAM = Path(__file__).parent / "extended.py"
FILES = {name: text for page in PAGES.values() for kind, name, text in BLOCK.findall(page) if kind == "python"}
BROKEN = {"law.broken": "my_package.gone", "field.silent": "my_package"}
"""Promises that are not kept."""


def entry_points() -> dict[str, str]:
    """As the first page says them."""
    (project,) = (text for kind, name, text in BLOCK.findall(PAGES["README"]) if name == "pyproject.toml")
    return tomllib.loads(project)["project"]["entry-points"]["attribound"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A folder with the package of the pages, as an installer leaves it."""
    home = tmp_path_factory.mktemp("installed")
    (home / "my_package").mkdir()
    (home / "my_package" / "__init__.py").write_text("")
    for name, text in FILES.items():
        (home / name).write_text(text)
    about = home / "my_package-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    lines = [f"{name} = {module}" for name, module in {**entry_points(), **BROKEN}.items()]
    (about / "entry_points.txt").write_text("\n".join(["[attribound]", *lines, ""]))
    return home


def environment(home: Path) -> dict[str, str]:
    ours = [str(home), str(ROOT / "src"), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(ours), "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def outcome(installed: Path) -> dict:
    """What the program made with the package says."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(PROGRAM), str(installed)],
        env=environment(installed),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


IN_TURN = """
import contextlib, io, json, sys
from attribound.attacks import BUDGETS
from attribound.attacks.base import make_problem
from attribound.cli.app import run

make_problem.__kwdefaults__["samples"] = BUDGETS["quick"].options["rescore_samples"] = 256
answers = []
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        answers.append([run(words), said.getvalue()])
print(json.dumps(answers))
"""


def in_turn(home: Path, *commands: list[str]) -> list[tuple[int, str]]:
    """Exit codes of commands given to one new process, and what each said about errors. Audits need not convict."""
    done = subprocess.run(
        [sys.executable, "-c", IN_TURN, json.dumps(commands)],
        env=environment(home),
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [(code, said) for code, said in json.loads(done.stdout.splitlines()[-1])]


CERTIFY = ["certify", "--model", "mnist-cnn", "--data", "mnist-sample", "--items", "1", "--workers", "1"]
OWN = "my_package.bands:Bands"
REFUSED = {
    "own:none": "expected 'own:none' to make a field",
    "own:gone": "cannot load the attribution 'own:gone'",
    "nowhere_at_all:Field": "cannot load the attribution 'nowhere_at_all:Field'",
}


@pytest.fixture(scope="module")
def answers(installed: Path) -> dict[str, tuple[int, str]]:
    """A run made by one new process, and what is done with it and without it by another."""
    (installed / "own.py").write_text("def none(model):\n    return model\n")
    run = str(installed / "run")
    again = ["verify", run, "--resample", "1"]
    commands = {
        "verify": ["verify", run],
        "again": again,
        "trusted": [*again, "--attribution", OWN],
        "attack": ["attack", run, "--method", "one-feature", "--attribution", OWN, "--budget", "quick"],
        **{spec: [*CERTIFY, "--out", "refused", "--attribution", spec] for spec in REFUSED},
    }
    asked = ["--attribution", OWN, "--map", "paired", "--noise", "mixture:0.5", "--ask", "axis=yes", "--out", run]
    (made,) = in_turn(installed, [*CERTIFY, "--samples", "32", *asked])
    found = in_turn(installed, *commands.values())
    return {"certify": made, **dict(zip(commands, found, strict=True))}


def test_every_kind_has_a_page_with_one_file_and_one_call() -> None:
    assert set(PAGES) == {"README", "law", "rule", "statement", "field", "map", "change", "attack", "reader"}
    for name, page in PAGES.items():
        files = [text for kind, _, text in BLOCK.findall(page) if kind == "python"]
        calls = [re.findall(r"^(?:@|)register_\w+", text, re.MULTILINE) for text in files]
        assert list(map(len, calls)) == ([] if name == "README" else [1]), name
        assert name == "README" or f"register_{name}" in calls[0][0]
    assert set(entry_points().values()) <= {name.removesuffix(".py").replace("/", ".") for name in FILES}


def test_the_pages_are_written_like_the_house(installed: Path) -> None:
    ruff = shutil.which("ruff", path=str(Path(sys.executable).parent))
    if ruff is None:
        pytest.skip("ruff is not installed")
    files = [str(installed / path) for path in FILES]
    config = str(ROOT / "pyproject.toml")
    for words in (["check"], ["format", "--check"]):
        done = subprocess.run([ruff, *words, "--config", config, *files], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_what_was_not_asked_for_is_not_loaded(outcome) -> None:
    wanted = ("axis", "bands", "cone", "haze", "mixture", "npy", "one_feature", "paired")
    assert outcome["loaded"] == ["my_package", *(f"my_package.{name}" for name in wanted)]


def test_a_broken_plug_in_is_one_clear_line(outcome) -> None:
    broken = outcome["broken"]
    assert broken["missing"] == (
        "cannot load the law 'broken' of the package my-package: ModuleNotFoundError: No module named 'my_package.gone'"
    )
    assert broken["silent"] == (
        "the package my-package promises the field 'silent', but my_package does not register it"
    )
    assert broken["unknown"].startswith("expected a noise, uniform:RADIUS or gaussian:SIGMA")
    assert broken["taken"] == "there is a data called 'npz' already"
    assert "letters without ':' or spaces, got 'a:b'" in broken["named"]
    assert broken["rule"] == "there is a rule called 'tight' already"
    assert "expected a share of at most" in broken["share"]


def test_everything_works_on_the_command_line(answers) -> None:
    codes = [answers[name][0] for name in ("certify", "verify", "again", "trusted", "attack")]
    assert codes == [0, 0, 2, 0, 0], answers
    assert f"the record names the attribution '{OWN}', which is code: repeat it" in answers["again"][1]


@pytest.mark.parametrize(("spec", "message"), REFUSED.items())
def test_own_code_that_is_no_field_is_refused_in_a_line(spec, message, answers) -> None:
    code, said = answers[spec]
    assert (code, said.count("\n")) == (2, 1)
    assert message in said


def test_a_new_law_certifies_and_is_read_back(outcome) -> None:
    law = outcome["law"]
    assert law["noise"] == "mixture:0.5"
    assert law["problems"] == []
    assert 0 < law["norm_lower"] <= law["exact_norm"]
    assert law["max_epsilon"] > 0
    assert law["beyond"] == -1.0, "the map turns over there"
    assert {"covariance", "tight"} <= set(law["rules"])


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
    assert rule["shares"] <= rule["spent"] <= 1.0
    assert rule["unchanged"], "asking for more changes nothing that was proved before"
    assert 0 < rule["answer"]["projection"] <= 1


def test_a_new_field_certifies_in_its_own_shape(outcome) -> None:
    field = outcome["field"]
    assert field["shape"] == [4]
    assert field["problems"] == []
    assert field["attribution"] == "bands"
    assert field["max_epsilon"] > 0
    assert field["centred"] == ["centred"]


def test_a_new_map_is_a_shape_like_any_other(outcome) -> None:
    assert outcome["field"]["paired"] == ["paired"]
    assert outcome["field"]["paired_shape"] == [2]


def test_a_new_change_has_a_tolerance(outcome) -> None:
    change = outcome["change"]
    assert change["spec"] == "haze:80"
    assert change["alpha"] == 1e-3
    assert 0 < change["reach"] <= change["exact"] + change["window"]
    assert change["reach"] > change["exact"] / 2


def test_a_new_attack_attacks(outcome) -> None:
    attack = outcome["attack"]
    assert attack["method"] == "one-feature"
    assert attack["length"] <= attack["epsilon"] * (1 + 1e-6)
    assert attack["cosine"] >= attack["certified"] - 0.1


def test_a_new_reader_reads(outcome) -> None:
    assert outcome["reader"] == {"length": 3, "shape": [4], "name": "npy", "label": None}
