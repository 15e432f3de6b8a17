"""A smoke of `make bench`: every benchmark starts, and quick figures have the form that the page and readers expect."""

import importlib
import json
import math
import runpy
import sys
from pathlib import Path

import pytest

from benchmarks import bare_loop, bulk, everything_at_once
from benchmarks.__main__ import NAMES, main
from benchmarks.figure import Figure
from benchmarks.page import page, source_hash

ROOT = Path(__file__).parent.parent
HELPERS = {"__init__", "__main__", "clocked", "figure", "page"}
SCRIPTS = sorted((ROOT / "scripts").rglob("*.py"))


def test_every_benchmark_is_listed_and_can_be_imported() -> None:
    assert {path.stem for path in (ROOT / "benchmarks").glob("*.py")} - HELPERS == set(NAMES)
    for name in NAMES:
        assert callable(importlib.import_module(f"benchmarks.{name}").measure)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_every_script_can_be_imported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it imports must still be there; nothing is run."""
    monkeypatch.syspath_prepend(str(path.parent))
    assert runpy.run_path(str(path), run_name="imported")["__doc__"]


def test_quick_figures_have_their_form(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(bare_loop, "SAMPLES", 256)
    monkeypatch.setattr(everything_at_once, "DRAWS", 256)
    monkeypatch.setattr(sys, "argv", ["benchmarks", "bare_loop", "everything_at_once"])
    assert main() == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["name"] for line in lines] == ["bare_loop", "everything_at_once"]
    for line in lines:
        assert set(line) == {"name", "ours", "peer", "ratio", "unit"}
        assert all(math.isfinite(line[key]) and line[key] > 0 for key in ("ours", "peer", "ratio"))


def test_one_that_fails_does_not_lose_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> list[Figure]:
        raise OSError("no room")

    monkeypatch.setattr(bare_loop, "measure", broken)
    monkeypatch.setattr(everything_at_once, "measure", lambda: [Figure("kept", 1.0, 2.0, 2.0, "s")])
    monkeypatch.setattr(sys, "argv", ["benchmarks", "bare_loop", "everything_at_once"])
    assert main() == 1
    printed = capsys.readouterr()
    assert json.loads(printed.out)["name"] == "kept"
    assert printed.err == "error: bare_loop: no room\n"


def test_an_unknown_benchmark_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks", "bare_lop"])
    with pytest.raises(SystemExit, match=r"error: expected one of bare_loop, .*, got 'bare_lop'"):
        main()


def test_the_page_has_date_code_and_every_figure() -> None:
    figures = [Figure("second", 2.0, 3.0, 1.5, "s"), Figure("first", 0.5, 0.25, 0.5, "images/s")]
    text = page(figures, code="ab" * 32, seconds=90.0, took={"bare_loop": "12 s", "bulk": "FAILED: OSError"})
    assert "`bare_loop` 12 s; `bulk` FAILED: OSError." in text
    assert f"code `{'ab' * 32}`" in text
    assert "in 1.5 minutes" in text
    assert text.index("| first | 0.5 | 0.25 | 0.5 | images/s |") < text.index("| second | 2 | 3 | 1.5 | s |")


def test_the_hash_sees_names_and_content_and_no_compiled_files(tmp_path: Path) -> None:
    def hashed(files: dict[str, str]) -> str:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content)
        return source_hash(folder)

    first = hashed({"a.py": "1", "b/c.py": "2"})
    assert hashed({"b/c.py": "2", "a.py": "1", "__pycache__/a.pyc": "x"}) == first
    assert len({first, hashed({"a.py": "1", "b/c.py": "3"}), hashed({"a.py": "1", "c.py": "2"})}) == 3


def test_the_page_of_many_records_keeps_what_others_measured() -> None:
    few, many = (
        bulk.section(count, 1.0, ["| show | 1.0 | 2 |"], "ab", f"{count} show") for count in (100_000, 1_000_000)
    )
    page_of_both = bulk.with_section(bulk.with_section("", many), few)
    assert page_of_both.index("# 100,000 records") < page_of_both.index("# 1,000,000 records")
    newer = bulk.section(100_000, 1.0, ["| show | 3.0 | 2 |"], "cd", "100000 show")
    replaced = bulk.with_section(page_of_both, newer)
    assert replaced.count("# 100,000 records") == 1
    assert "| show | 3.0 | 2 |" in replaced
    assert many.strip() in replaced
