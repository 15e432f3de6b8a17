"""`attribound report` of 200 and of 10,000 records with 200 images, in processes of their own: time, memory, size."""

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

SIZES = {200: (10.0, 500.0), 10_000: (30.0, 500.0)}
"""Records: wanted seconds (imports included) and megabytes of memory."""

CODE = """
import time
started = time.perf_counter()
import json, sys
from pathlib import Path
from attribound.report.page import write_report
page = write_report(Path(sys.argv[1]))
# Not ru_maxrss: a child inherits its parent's, which has torch in it.
peak = 1024 * next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([time.perf_counter() - started, peak / 1e6, page.stat().st_size / 1e6]))
"""


def measure() -> list[Figure]:
    config, job = prepare(RunConfig(model="mnist-cnn-noise", data="mnist-sample", samples=64, items=20, pictures=20))
    worker = Worker(job)
    outcomes = [worker.run(Task(item, True)) for item in range(20)]
    found: list[Figure] = []
    for count, (wanted, memory) in SIZES.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run"
            with Store.create(path, config) as store:
                for item in range(count):
                    one = outcomes[item % 20]
                    store.add(Outcome(item, renumbered(one.record, item), one.pictures if item < 200 else {}))
            done = subprocess.run([sys.executable, "-c", CODE, str(path)], capture_output=True, text=True, check=True)
        seconds, peak, size = json.loads(done.stdout)
        found += [
            Figure(f"report_{count}", seconds, wanted, wanted / seconds, "s"),
            Figure(f"report_{count}_memory", peak, memory, memory / peak, "MB"),
        ]
        if count == 200:
            found.append(Figure("report_200_size", size, 8.0, 8.0 / size, "MB"))
    return found
