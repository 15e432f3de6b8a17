"""Many stored records: making them, then each command that reads a run, in a process of its own.

`python -m benchmarks bulk` takes 100,000; `python -m benchmarks.bulk 1000000 [COMMAND ...]` takes a million and writes
results/bulk.md. Records are those of twenty real inputs under other numbers. Wanted for 100,000: show and gate in 12 s,
the report in 20 s; for a million: show in 2 minutes, and memory that does not grow by more than a few hundred bytes a
record.
"""

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from attribound.runs import RunConfig, Store
from attribound.runs.records import encode
from attribound.runs.runner import prepare
from attribound.runs.tasks import Task
from attribound.runs.work import Worker
from benchmarks.figure import Figure, renumbered
from benchmarks.page import OUT as PAGE
from benchmarks.page import source_hash

RECORDS, REAL = 100_000, 20
OUT = PAGE.with_name("bulk.md")
WANTED = {"show": 12.0, "gate": 12.0, "report": 20.0}
"""Processor seconds for 100,000 records, imports included."""

COMMANDS = {
    "show": "from attribound.runs import Store, summarise\nwith Store.read(run) as store: summarise(store)",
    "gate": "from attribound.runs.gate import Asked, judge\njudge(run, Asked(cosine=0.8, epsilon=0.25, share=0.9))",
    "verify": "from attribound.runs.check import check_run\nassert check_run(run).passed",
    "export": "from attribound.runs import Store\nfrom attribound.runs.export import export, public_records\n"
    "with Store.read(run) as store: export(store, 'csv', run.parent / 'run.csv', public_records)",
    "compare": "from attribound.runs.compare import compare\ncompare(run, run)",
    "report": "from attribound.report.page import write_report\nwrite_report(run)",
}
CODE = """
import json, sys, time
from pathlib import Path
from attribound.memory import keep_freed
keep_freed()  # as the command line does
run = Path(sys.argv[1])
{work}
# Not ru_maxrss: a child inherits its parent's, which has torch in it.
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024
print(json.dumps([time.process_time(), peak]))
"""


def make(path: Path, count: int) -> None:
    """A run of so many records."""
    config, job = prepare(RunConfig(model="mnist-cnn-noise", data="mnist-sample", samples=1024, items=REAL, pictures=0))
    worker = Worker(job)
    records = [worker.run(Task(item, False)).record for item in range(REAL)]
    config = RunConfig.from_json({**config.to_json(), "items": count}, "made")
    with Store.create(path, config) as store:
        store.note("inputs", count)
        made = ((item, "", encode(renumbered(records[item % REAL], item)).decode()) for item in range(count))
        store.connection.set_progress_handler(None, 0)  # it takes longer than a store allows
        with store.connection:  # all at once: how a run writes is not what is measured
            store.connection.executemany("INSERT INTO records VALUES (?, ?, ?)", made)


def clocked(path: Path, command: str) -> tuple[float, float]:
    """Processor seconds and megabytes of a command in a process of its own, with one thread."""
    code = CODE.format(work=COMMANDS[command])
    command, alone = [sys.executable, "-c", code, str(path)], {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=alone)
    seconds, peak = json.loads(done.stdout)
    return float(seconds), float(peak)


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        make(path, RECORDS)
        found = {name: clocked(path, name) for name in WANTED}
    return [
        figure
        for name, (seconds, peak) in found.items()
        for figure in (
            Figure(f"bulk_{name}", seconds, WANTED[name], WANTED[name] / seconds, "s"),
            Figure(f"bulk_{name}_memory", peak, 1000.0, 1000.0 / peak, "MB"),
        )
    ]


def section(count: int, size: float, rows: list[str], code: str, typed: str) -> str:
    """What was measured with so many records."""
    return f"""# {count:,} records

Made by `python -m benchmarks.bulk {typed}` on {datetime.date.today().isoformat()}, code `{code}` (SHA-256 over `src`).
The run is one file of {size:,.0f} MB, with the records of {REAL} real inputs under other numbers. Every command
checks every record. Seconds are those of one processor, imports included.

| command | processor seconds | peak memory, MB |
|---|---|---|
{chr(10).join(rows)}
"""


def with_section(page: str, text: str) -> str:
    """The page with a section in place of the one with the same title, or at its end."""
    parts = [part for part in re.split(r"(?m)^(?=# )", page) if part.strip()]
    title = text.splitlines()[0]
    kept = [part for part in parts if part.splitlines()[0] != title]
    return "\n".join(part.strip() + "\n" for part in sorted([*kept, text], key=records_of))


def records_of(part: str) -> int:
    """Sections of fewer records come first."""
    return int(part.split()[1].replace(",", ""))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bulk", description=__doc__)
    parser.add_argument("count", type=int, help="records")
    parser.add_argument("commands", nargs="*", help=f"of {', '.join(COMMANDS)}; all if none is named")
    parser.add_argument("--run", type=Path, help="make the run there, or take the one that is there")
    typed = parser.parse_args()
    code, rows = source_hash(), list[str]()
    with tempfile.TemporaryDirectory() as folder:
        path = typed.run or Path(folder) / "run"
        if not path.exists():
            make(path, typed.count)
        size = sum(file.stat().st_size for file in path.iterdir()) / 1e6
        for command in typed.commands or COMMANDS:
            seconds, peak = clocked(path, command)
            rows.append(f"| {command} | {seconds:.1f} | {peak:.0f} |")
            print(rows[-1], flush=True)
    text = section(typed.count, size, rows, code, " ".join([str(typed.count), *typed.commands]))
    OUT.write_text(with_section(OUT.read_text() if OUT.exists() else "", text))


if __name__ == "__main__":
    main()
