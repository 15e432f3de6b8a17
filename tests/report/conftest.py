"""Runs to report: one that was certified, and copies of its records with what a test needs changed."""

import copy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attribound.runs import RunConfig, Store
from attribound.runs.engines import Local
from attribound.runs.runner import prepare, run
from attribound.runs.tasks import Outcome

CONFIG = RunConfig(model="mnist-cnn-noise", data="mnist-sample", samples=256, items=4, pictures=4)
EVIL = "</script><script>alert(1)</script>"


@pytest.fixture(scope="session")
def certified(tmp_path_factory) -> Path:
    """Four real images, certified."""
    path = tmp_path_factory.mktemp("report") / "run"
    _, job = prepare(CONFIG)
    run(job, path, Local(1))
    return path


@pytest.fixture(scope="session")
def template(certified) -> tuple[RunConfig, list[Outcome]]:
    with Store.read(certified) as store:
        return store.config, [Outcome(one["item"], one, store.pictures(one["item"])) for one in store.records()]


def copies(outcomes: list[Outcome], count: int, pictures: int = 200) -> Iterator[Outcome]:
    """Records like those of a real run, each a little different."""
    generator = np.random.default_rng(0)
    for item in range(count):
        source = outcomes[item % len(outcomes)]
        record: dict[str, Any] = copy.deepcopy(source.record) | {"item": item}
        factor = float(generator.uniform(0.9, 1.0))
        record["evidence"]["norm_lower"] *= factor
        record["norm_lower"] *= factor
        record["max_epsilon"] = {key: value * factor**3 for key, value in record["max_epsilon"].items()}
        yield Outcome(item, record, source.pictures if item < pictures else {})


def write_run(path: Path, config: RunConfig, outcomes, classes=None, findings=()) -> Path:
    with Store.create(path, config) as store:
        for outcome in outcomes:
            store.add(outcome)
        if classes:
            store.note("classes", classes)
        for found in findings:
            store.add_finding(found["item"], found, store.pictures(found["item"]).get("smoothed"))
    return path


@pytest.fixture
def synthesise(tmp_path, template):
    """Write a run with given outcomes; returns its folder."""

    def synthesise(outcomes, name: str = "run", classes=None, findings=(), **changes) -> Path:
        return write_run(tmp_path / name, replace(template[0], **changes), outcomes, classes, findings)

    return synthesise


def error(item: int, message: str = "expected a finite `x`") -> Outcome:
    return Outcome(item, {"item": item, "label": 1, "status": "error", "message": message, "seconds": 0.1})


def finding(outcome: Outcome, **changes) -> dict[str, Any]:
    epsilon = outcome.record["max_epsilon"]["0.8"]
    found = {
        "item": outcome.item,
        "epsilon": epsilon,
        "certified": 0.8,
        "worst": 0.97,
        "method": "direct",
        "gap": 0.17,
        "tightness": 0.25,
        "violated": False,
        "assumed": False,
        "seed": 0,
        "broken_at": 4 * epsilon,
        "label_kept": True,
    }
    return found | changes


SCAN = {
    "model": "m",
    "accuracy": 0.98,
    "cosine": 0.8,
    "epsilon": None,
    "levels": [
        {"noise": f"gaussian:{s}", "sigma": s, "accuracy_noisy": 1 - s / 4, "median_max_epsilon": s, "certified": None}
        for s in (0.25, 0.5, 1.0)
    ],
    "recommended": "gaussian:0.5",
    "advice": "the best",
}
