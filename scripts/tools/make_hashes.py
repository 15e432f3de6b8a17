"""Write constraints-hashed.txt: the pinned packages with the SHA-256 of their files, for Linux x86-64 and CPython 3.11.

Run again after a change of constraints.txt: `python scripts/tools/make_hashes.py`. pip tells the hashes without
installing. torch is left out: its builds (CPU, CUDA) are different files of one version, and which one it is, is the
user's choice.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
CHOSEN_BY_THE_USER = "torch"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        options = ["--dry-run", "--ignore-installed", "--no-deps", "--quiet", "--report", str(report)]
        command = [sys.executable, "-m", "pip", "install", *options, "-r", str(ROOT / "constraints.txt")]
        subprocess.run(command, check=True)
        entries = json.loads(report.read_text())["install"]
    lines = [
        f"{entry['metadata']['name']}=={entry['metadata']['version']} "
        f"--hash=sha256:{entry['download_info']['archive_info']['hashes']['sha256']}"
        for entry in entries
        if entry["metadata"]["name"] != CHOSEN_BY_THE_USER
    ]
    (ROOT / "constraints-hashed.txt").write_text("\n".join(sorted(lines, key=str.lower)) + "\n")


if __name__ == "__main__":
    main()
