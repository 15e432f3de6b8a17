"""A run over rows of a table: TreeSHAP of an XGBoost forest, 2,048 draws a row, two workers, start and store included.

Rows are made from the embedded applicants, each column shuffled by itself, so that no two are alike. The figure is of
200 rows, for 1,000; wanted: 3 minutes on two cores. `python -m benchmarks.table_rows 1000` runs all of them and also
says the processor seconds of both workers, which other programs on the machine do not change much.
"""

import csv
import random
import resource
import sys
import tempfile
import time
from pathlib import Path

import attribound.data
from attribound.runs import RunConfig
from attribound.runs.engines import Local
from attribound.runs.runner import prepare, run
from benchmarks.figure import Figure

FOLDER = Path(attribound.data.__file__).parent / "credit"
ROWS, WHOLE, WANTED = 200, 1000, 180.0


def write_rows(path: Path, count: int) -> None:
    """A table of made applicants, each column drawn by itself."""
    known = list(csv.DictReader((FOLDER / "applicants.csv").read_text().splitlines()))
    generator = random.Random(0)
    columns = {name: generator.choices([row[name] for row in known], k=count) for name in known[0]}
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def spent(count: int) -> tuple[float, float]:
    """Seconds by the clock and of processors."""

    def processors() -> float:
        here, there = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return here.ru_utime + here.ru_stime + there.ru_utime + there.ru_stime

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        write_rows(path, count)
        config = RunConfig(
            model="credit-forest",
            attribution="treeshap",
            data=f"csv:{path}?label=risk&codebook={FOLDER / 'codebook.toml'}",
            noise="gaussian:0.5",
            samples=2048,
            pictures=0,
        )
        started, before = time.perf_counter(), processors()
        _, job = prepare(config)
        run(job, Path(folder) / "run", Local(2))
        return time.perf_counter() - started, processors() - before


def measure() -> list[Figure]:
    seconds, _ = spent(ROWS)
    whole = seconds * WHOLE / ROWS
    return [Figure("table_rows", whole, WANTED, WANTED / whole, "s for 1,000 rows")]


def main() -> None:
    count = int(sys.argv[1])
    clock, processors = spent(count)
    print(f"{count} rows: {clock:.1f} s by the clock, {processors:.1f} processor seconds")


if __name__ == "__main__":
    main()
