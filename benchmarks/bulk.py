"""Many stored records: making them, then each command that reads a run, in a process of its own.

`python -m benchmarks bulk` takes 100,000; `python -m benchmarks.bulk 1000000` takes so many and prints a table. Records
are those of twenty real inputs under other numbers. Wanted for 100,000: show and gate in 12 s, the report in 20 s; for
a million: show in 2 minutes, and memory that does not grow by more than a few hundred bytes a record.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from attribound.runs import RunConfig, Store
from attribound.runs.runner import prepare
from attribound.runs.tasks import Outcome, Task
from attribound.runs.work import Worker
from benchmarks.figure import Figure, renumbered

RECORDS, REAL = 100_000, 20
WANTED = {"show": 12.0, "gate": 12.0, "report": 20.0}
"""Seconds for 100,000 records, imports included."""

COMMANDS = {
    "show": "from attribound.runs import Store, summarise\nwith Store.read(run) as store: summarise(store)",
    "gate": "from attribound.runs.gate import Asked, judge\njudge(run, Asked(cosine=0.8, epsilon=0.25, share=0.9))",
    "verify": "from attribound.runs.check import check_run\nassert check_run(run).passed",
    "export": "from attribound.runs import Store\nfrom attribound.runs.export import export\n"
    "with Store.read(run) as store: list(export(store, 'csv', run.parent / 'run.csv'))",
    "compare": "from attribound.runs.compare import compare\ncompare(run, run)",
    "report": "from attribound.report.page import write_report\nwrite_report(run)",
}
CODE = """
import json, sys, time
from pathlib import Path
started, run = time.perf_counter(), Path(sys.argv[1])
{work}
# Not ru_maxrss: a child inherits its parent's, which has torch in it.
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024
print(json.dumps([time.perf_counter() - started, peak]))
"""


def make(path: Path, count: int) -> None:
    """A run of so many records."""
    config, job = prepare(RunConfig(model="mnist-cnn-noise", data="mnist-sample", samples=1024, items=REAL, pictures=0))
    worker = Worker(job)
    records = [worker.run(Task(item, False)).record for item in range(REAL)]
    config = RunConfig.from_json({**config.to_json(), "items": count}, "made")
    with Store.create(path, config) as store:
        store.note("inputs", count)
        for item in range(count):
            store.add(Outcome(item, renumbered(records[item % REAL], item)))


def clocked(path: Path, command: str) -> tuple[float, float]:
    """Seconds and megabytes of a command in a process of its own."""
    code = CODE.format(work=COMMANDS[command])
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
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


def main() -> None:
    count = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        make(path, count)
        print(f"| command | seconds for {count:,} records | peak memory, MB |\n|---|---|---|", flush=True)
        for command in sys.argv[2:] or COMMANDS:
            seconds, peak = clocked(path, command)
            print(f"| {command} | {seconds:.1f} | {peak:.0f} |", flush=True)


if __name__ == "__main__":
    main()
