"""`attribound show` of 10,000 stored records, in a process of its own: under two seconds wanted, and flat memory."""

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

RECORDS, WANTED_SECONDS = 10_000, 2.0

CODE = """
import json, sys, time
from pathlib import Path
from attribound.runs import Store, summarise

def peak():
    # Not ru_maxrss, which a child inherits from its parent.
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))

before, started = peak(), time.perf_counter()
with Store.read(Path(sys.argv[1])) as store:
    total = summarise(store).total
print(json.dumps([total, time.perf_counter() - started, (peak() - before) / 1024]))
"""


def measure() -> list[Figure]:
    config, job = prepare(RunConfig(model="mnist-cnn-noise", data="mnist-sample", samples=64, items=1, pictures=0))
    record = Worker(job).run(Task(0, False)).record
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        with Store.create(path, config) as store:
            for item in range(RECORDS):
                store.add(Outcome(item, renumbered(record, item)))
        done = subprocess.run([sys.executable, "-c", CODE, str(path)], capture_output=True, text=True, check=True)
    total, seconds, megabytes = json.loads(done.stdout)
    assert total == RECORDS
    return [
        Figure("show_run", seconds, WANTED_SECONDS, WANTED_SECONDS / seconds, "s"),
        Figure("show_run_memory", megabytes, 50.0, 50.0 / max(megabytes, 1e-9), "MB above the imports"),
    ]
