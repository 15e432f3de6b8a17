"""The examples run as they stand."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))
MISSING = importlib.util.find_spec("mlflow") is None
PROGRAM = """
import contextlib, io, json, os, runpy, sys, traceback
from pathlib import Path

for path in map(Path, sys.argv[1:]):
    sys.argv[:], sys.path[0] = [str(path)], str(path.parent)
    os.mkdir(path.stem)
    with contextlib.chdir(path.stem), contextlib.redirect_stdout(io.StringIO()) as printed:
        failed = ""
        try:
            runpy.run_path(str(path), run_name="__main__")
        except BaseException:
            failed = traceback.format_exc()
    print(json.dumps([path.stem, failed, printed.getvalue()]))
"""


def skipped(path: Path) -> bool:
    return path.stem.startswith("mlflow") and MISSING


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory) -> dict[str, tuple[str, str]]:
    """What went wrong and what was printed, by example: one process runs them in turn, each in a folder of its own."""
    command = [sys.executable, "-c", PROGRAM, *(str(path) for path in EXAMPLES if not skipped(path))]
    folder = tmp_path_factory.mktemp("examples")
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {name: (failed, printed) for name, failed, printed in rows}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example(path: Path, outcomes) -> None:
    if skipped(path):
        pytest.skip("mlflow is not installed: pip install mlflow-skinny")
    failed, printed = outcomes[path.stem]
    assert not failed, failed
    assert printed.strip()
