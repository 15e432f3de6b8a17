"""The documentation site, built once, strictly: a warning is an error."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


BUILD = ("build", "--strict")
"""As in the Makefile. No --quiet: it hides warnings from --strict."""


def build(folder: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """Build the site of a folder."""
    command = [sys.executable, "-m", "mkdocs", *BUILD, "--site-dir", str(out)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    """The folder of the built site."""
    if importlib.util.find_spec("mkdocs") is None:
        pytest.skip("mkdocs is not installed: pip install 'attribound[docs]'")
    out = tmp_path_factory.mktemp("site") / "site"
    done = build(ROOT, out)
    assert done.returncode == 0, done.stdout + done.stderr
    return out
