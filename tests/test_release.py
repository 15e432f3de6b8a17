"""What goes out: one version, links that lead somewhere, no trace of where it was made, files that others rely on."""

import importlib.util
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.site.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)\s#]+)")
ELSEWHERE = re.compile(r"/(?:home|root|work|opt|Users)/[\w.]|\bartifactory\b|index-url", re.IGNORECASE)
"""Places on a machine, and indexes that only some can reach."""


def tracked(*suffixes: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    found = [ROOT / name for name in listed.stdout.split("\0") if name.endswith(suffixes)]
    return [path for path in found if path.is_file()]


def test_one_version() -> None:
    from attribound import __version__

    assert PROJECT["version"] == __version__
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert re.search(rf"^## {re.escape(__version__)}$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


def test_links_between_files_lead_somewhere() -> None:
    broken = [
        f"{path.relative_to(ROOT)}: {link}"
        for path in tracked(".md")
        for link in LINK.findall(re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL))
        if not (path.parent / link).exists()
    ]
    assert broken == []


def test_the_description_stands_alone() -> None:
    pytest.importorskip("hatchling", reason="hatchling is not installed: pip install hatchling")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = module.standing_alone((ROOT / "README.md").read_text())
    assert LINK.findall(text) == []
    assert "A tolerance sheet" not in text, "pictures are left out"
    assert "Getting started" in text, "words of links stay"
    assert "(https://ray.io)" in text, "links that are absolute stay"


def test_badges_are_true() -> None:
    badges = re.findall(r"img\.shields\.io/badge/([^)]+)-\w+\)", (ROOT / "README.md").read_text())
    pythons = [one.rpartition(" ")[2] for one in PROJECT["classifiers"] if ":: Python :: 3." in one]
    licence = PROJECT["license"].replace("-", "--")
    assert badges == [f"python-{'%20%7C%20'.join(pythons)}", f"licence-{licence}", "types-mypy%20strict"]
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["strict"] is True
    assert (ROOT / "LICENSE").read_text().lstrip().startswith("Apache License")


def test_nothing_says_where_it_was_made() -> None:
    told = (".md", ".toml", ".txt", ".yml", ".yaml", ".cff", ".json", "Dockerfile", "Makefile", ".ci/run")
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in [*tracked(*told), *(path for path in tracked(".py") if "tests" not in path.parts)]
        if (match := ELSEWHERE.search(path.read_text()))
    ]
    assert found == []


def test_the_image_is_small_and_runs_as_nobody_special() -> None:
    """What can be said of a Dockerfile without a builder; hadolint has no complaint about it either."""
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    assert [line for line in lines if line.startswith("FROM")] == ["FROM python:3.11-slim"]
    assert lines.index("USER 1000") < lines.index('ENTRYPOINT ["attribound"]')
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {word for line in lines if line.startswith("COPY") for word in line.split()[1:-1]}
    assert copied == allowed
    assert all((ROOT / name).exists() for name in copied)


def test_the_workflow_calls_what_we_call() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    steps = [step.get("run", "") for job in workflow["jobs"].values() for step in job["steps"]]
    assert {".ci/run", "make docs"} <= set(steps)
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [one["repo"] for one in hooks] == ["local"], "hooks are the project's own tools"
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.md"):
        assert {"name", "about"} <= set(yaml.safe_load(path.read_text().split("---")[1]))
