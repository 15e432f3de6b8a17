"""`python -m benchmarks [NAME ...]`: run all benchmarks, or those named, and print one JSON line per figure.

A whole round, which takes a quarter of an hour at most on two idle cores, also writes results/bench.md.
"""

import importlib
import sys
import time

from benchmarks.figure import Figure
from benchmarks.page import OUT, page, source_hash

NAMES = [
    "bare_loop",
    "everything_at_once",
    "outside_sampling",
    "captum_noise_tunnel",
    "memory_flat",
    "moment_cost",
    "certified_epsilon",
    "attack_step",
    "train_loop",
    "run_overhead",
    "engines",
    "table_rows",
    "bulk",
    "show_run",
    "report_page",
    "imagenet_draw",
    "kept_memory",
    "half_precision",
]


def measure(names: list[str]) -> tuple[list[Figure], dict[str, str]]:
    """The figures, each printed as soon as it is known; and how long every benchmark took, or why it failed."""
    figures, took = list[Figure](), dict[str, str]()
    for name in names:
        started = time.perf_counter()
        try:
            for figure in importlib.import_module(f"benchmarks.{name}").measure():
                print(figure.line(), flush=True)
                figures.append(figure)
            took[name] = f"{time.perf_counter() - started:.0f} s"
        except Exception as error:  # one that fails does not lose the others
            took[name] = f"FAILED: {type(error).__name__}"
            print(f"error: {name}: {error}", file=sys.stderr)
    return figures, took


def main() -> int:
    names = sys.argv[1:]
    for name in names:
        if name not in NAMES:
            sys.exit(f"error: expected one of {', '.join(NAMES)}, got {name!r}")
    # The hash of what is measured: files may be edited meanwhile.
    code, started = source_hash(), time.perf_counter()
    figures, took = measure(names or NAMES)
    if not names:
        OUT.write_text(page(figures, code=code, seconds=time.perf_counter() - started, took=took))
        print(f"wrote {OUT.relative_to(OUT.parents[1])}", file=sys.stderr)
    return int(any(one.startswith("FAILED") for one in took.values()))


if __name__ == "__main__":
    sys.exit(main())
