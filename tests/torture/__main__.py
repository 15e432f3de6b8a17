"""`python -m tests.torture`: the table of faults, about an hour on two idle cores; writes results/torture.md."""

import argparse
import platform
import shutil
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import torch

from tests.torture import files, media, signals
from tests.torture.fault import Fault, Row, repeat
from tests.torture.processes import ITEMS, ROOT, reference


def main() -> int:
    """The number of failures is what counts: 0 is success."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the faults that need processes of their own")
    parser.add_argument("--files", type=int, default=10_000, help="mutated files of each sort")
    parser.add_argument("--only", default="", help="faults whose name holds this")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "torture.md")
    given = parser.parse_args()
    torch.set_num_threads(1)
    chosen = [fault for fault in _faults(given.files) if given.only in fault.name]
    folder, begun, rows = Path(tempfile.mkdtemp(prefix="torture-")), time.monotonic(), list[Row]()
    reference()
    for fault in chosen:
        rows.append(repeat(fault, _times(fault, given.share), folder, given.seed, _say))
        given.out.write_text(_table(rows, time.monotonic() - begun, len(chosen)))
    failures = sum(len(row.problems) for row in rows)
    if not failures:
        shutil.rmtree(folder)
    _say(f"{failures} failures" + (f"; what failed is in {folder}" if failures else ""))
    return min(failures, 1)


def _faults(count: int) -> list[Fault]:
    return [*signals.FAULTS, *media.FAULTS, *files.faults(count)]


def _times(fault: Fault, share: float) -> int:
    return max(round(share * fault.times), 1) if fault.scaled else fault.times


def _table(rows: list[Row], seconds: float, planned: int) -> str:
    command = f"python -m tests.torture {' '.join(sys.argv[1:])}".rstrip()
    state = "" if len(rows) == planned else f" **Unfinished: {len(rows)} of {planned} faults.**"
    where = "tmpfs and bind mounts" if media.can_mount() else "limits of the process, for nothing could be mounted"
    return "\n".join(
        [
            "# Torture",
            "",
            f"`{command}`, {datetime.now(UTC).date().isoformat()}, {seconds / 60:.0f} minutes, Python "
            f"{platform.python_version()}, torch {torch.__version__}.{state}",
            "",
            f"Each run has {ITEMS} inputs; after every fault all stored records are compared with those of a run to",
            f"which nothing happened, and no process may be left. Full and read-only media were {where}.",
            "`make torture` makes the full table.",
            "",
            "| fault | times | failures | seconds |",
            "|---|---|---|---|",
            *(row.line() for row in rows),
            "",
        ]
    )


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
