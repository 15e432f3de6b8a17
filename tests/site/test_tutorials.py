"""Tutorials print what they say they print; that of ImageNet needs fetched weights and is run by hand."""

import importlib.util
import subprocess
import sys

from tests.site.conftest import ROOT

SCRIPT = ROOT / "scripts" / "tools" / "run_tutorial.py"
BY_HAND = {"grad-cam.md"}


def script():
    spec = importlib.util.spec_from_file_location("run_tutorial", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pages_print_what_they_say() -> None:
    pages = [page for page in sorted((ROOT / "docs" / "tutorials").glob("*.md")) if page.name not in BY_HAND]
    assert len(pages) >= 3
    command = [sys.executable, "-W", "error", str(SCRIPT), *map(str, pages)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_differences_are_seen() -> None:
    page = "```python\nprint('epsilon', {})\n```\n\n```text\nepsilon 0.80\n```\n"
    assert script().run(page.format("0.81"))[1] == []
    assert len(script().run(page.format("0.9"))[1]) == 1
    assert len(script().run(page.format("'none'"))[1]) == 1
    unstated = "```python\nprint('a word')\n```\n"
    assert len(script().run(unstated)[1]) == 1
    assert "```text\na word\n```" in script().run(unstated)[0]
    assert script().run("<!-- not run -->\n\n```python\nraise SystemExit\n```\n")[1] == []
