"""The page of a whole round of benchmarks: when, of which code, and every figure."""

import datetime
import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from benchmarks.figure import Figure

ROOT = Path(__file__).parents[1]
SOURCE, OUT = ROOT / "src", ROOT / "results" / "bench.md"


def source_hash(folder: Path = SOURCE) -> str:
    """SHA-256 over the names and the content of every file of the folder, weights included, compiled files not."""
    total = hashlib.sha256()
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    for name, path in sorted(files.items()):
        if "__pycache__" not in path.parts:
            total.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()


def page(figures: Sequence[Figure], *, code: str, seconds: float, took: Mapping[str, str]) -> str:
    """Markdown: one row per figure, rounded for reading; the JSON lines have every digit."""
    rows = [
        f"| {one.name} | {one.ours:.4g} | {one.peer:.4g} | {one.ratio:.3g} | {one.unit} |"
        for one in sorted(figures, key=lambda one: one.name)
    ]
    return f"""# Benchmarks

Made by `make bench` on {datetime.date.today().isoformat()} in {seconds / 60:.1f} minutes: {os.cpu_count()} processor
cores, torch {torch.__version__}, code `{code}` (SHA-256 over `src`).

Each file of `benchmarks/` says what its figures compare and what is wanted. A ratio above 1 means that ours is better;
of `everything_at_once` and `moment_cost` it is a share of time, and less is better.

| figure | ours | peer | ratio | unit |
|---|---|---|---|---|
{chr(10).join(rows)}

How long each file took: {"; ".join(f"`{name}` {time}" for name, time in took.items())}.
"""
