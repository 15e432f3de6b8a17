"""The command line: parse, call, print. One file per group of commands."""

from attribound.cli import attack, bound, certify, data, demo, paper, pipeline, report, runs, tolerance, training
from attribound.cli.app import app, main, run

__all__ = [
    "app", "attack", "bound", "certify", "data", "demo", "main", "paper", "pipeline", "report", "run", "runs",
    "tolerance", "training",
]  # fmt: skip
