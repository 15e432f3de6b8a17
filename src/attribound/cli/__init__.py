"""The command line: parse, call, print. One file per group of commands."""

from attribound.cli import bound, certificates, demo, paper, report, runs, training
from attribound.cli.app import app, main, run

__all__ = ["app", "bound", "certificates", "demo", "main", "paper", "report", "run", "runs", "training"]
