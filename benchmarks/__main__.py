"""`python -m benchmarks [NAME ...]`: run all benchmarks, or those named, and print one JSON line per figure."""

import importlib
import sys

NAMES = [
    "bare_loop",
    "everything_at_once",
    "captum_noise_tunnel",
    "memory_flat",
    "moment_cost",
    "certified_epsilon",
    "attack_step",
    "train_loop",
    "run_overhead",
    "two_workers",
    "ray_vs_local",
    "show_run",
    "report_page",
    "imagenet_draw",
]


def main() -> None:
    for name in sys.argv[1:] or NAMES:
        if name not in NAMES:
            sys.exit(f"error: expected one of {', '.join(NAMES)}, got {name!r}")
        for figure in importlib.import_module(f"benchmarks.{name}").measure():
            print(figure.line(), flush=True)


if __name__ == "__main__":
    main()
