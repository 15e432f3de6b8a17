"""The numbers of 0.2.0, made anew beside this version's on the same machine."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "tools" / "compare_versions.py"


@pytest.mark.slow  # both versions make all certificates: a minute
def test_the_numbers_are_those_of_the_last_version() -> None:
    commit = ["git", "cat-file", "-e", "be15057^{commit}"]
    if subprocess.run(commit, cwd=ROOT, capture_output=True, check=False).returncode:
        pytest.skip("the history is not here")
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "14 certificates" in done.stdout
    print(done.stdout)  # pytest -rP shows what differs within its tolerance
