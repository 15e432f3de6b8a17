"""Runs to report: some that were certified, and copies of their records with what a test needs changed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from attribound.bounds.confidence import mean_radius
from attribound.certificates.certificate import Certificate
from attribound.certificates.finding import Finding
from attribound.certificates.record import Failure, Record
from attribound.runs import RunConfig, Store
from attribound.runs.columns_setup import prepare_columns
from attribound.runs.engines import Local
from attribound.runs.runner import prepare, run
from attribound.runs.tasks import Outcome
from attribound.runs.tolerance_setup import prepare_tolerances
from attribound.tolerances.columns.record import Asked
from tests.report.browsing import browser, open_page, window

__all__ = ["browser", "open_page", "window"]

CONFIG = RunConfig(model="mnist-cnn-noise", data="mnist-sample", samples=256, items=4, pictures=4)
CREDIT = RunConfig(model="credit-forest", data="credit-sample", items=8, columns=Asked(fixed=("age",)))
EVIL = "</script><script>alert(1)</script>"


def certified_run(path: Path, config: RunConfig) -> Path:
    run(prepare(config)[1], path, Local(1))
    return path


@pytest.fixture(scope="session")
def certified(tmp_path_factory) -> Path:
    """Four real images, certified."""
    return certified_run(tmp_path_factory.mktemp("report") / "run", CONFIG)


@pytest.fixture(scope="session")
def celled(tmp_path_factory) -> Path:
    """Four real images with maps of 7 x 7 patches whose cells are certified."""
    shaped = msgspec.structs.replace(CONFIG, maps=("pooled:7",), asked={"cells": [0.5, 0.3]})
    return certified_run(tmp_path_factory.mktemp("celled") / "run", shaped)


@pytest.fixture(scope="session")
def tolerated(tmp_path_factory) -> Path:
    """Two real images under three changes: one scanned, two exact."""
    path = tmp_path_factory.mktemp("tolerated") / "run"
    specs = ("rotation:10", "brightness:4", "shift:1")
    config = msgspec.structs.replace(CONFIG, changes=specs, noise="", cosines=(0.5,), epsilons=(), items=2)
    run(prepare_tolerances(config)[1], path, Local(1))
    return path


@pytest.fixture(scope="session")
def credit(tmp_path_factory) -> Path:
    """Eight applicants."""
    folder = tmp_path_factory.mktemp("columns") / "run"
    run(prepare_columns(CREDIT)[1], folder, Local(1))
    return folder


@pytest.fixture(scope="session")
def template(certified) -> tuple[RunConfig, list[Outcome]]:
    with Store.read(certified) as store:
        return store.config, [Outcome(one.item, one, store.pictures(one.item)) for one in store.records()]


def changed(record: Record, **changes: Any) -> Record:
    """A record with something else in it; numbers it states are derived anew."""
    other = msgspec.structs.replace(record, **changes)
    return Certificate(other).stating(map(float, record.cosine), map(float, record.max_epsilon)).record


def forged(outcome: Outcome, **changes: Any) -> Outcome:
    """An outcome whose record states whatever it likes."""
    return Outcome(outcome.item, msgspec.structs.replace(outcome.record, **changes), outcome.pictures)


def weaker(record: Record, factor: float) -> Record:
    """A record with a smaller norm, which states a little less than it proves."""
    facts = {name: dict(fact) for name, fact in record.facts.items() if name in ("length", "spread", "closeness")}
    facts["length"]["lower"] *= factor
    facts["closeness"]["radius"] = radius = mean_radius(
        limit=record.bound.limit,
        norm_lower=facts["length"]["lower"],
        samples=record.draws,
        alpha=facts["closeness"]["attacked_alpha"],
        eigenvalue_upper=record.eigenvalue_upper,
    )
    less = {key: value * factor**4 * 0.4 for key, value in record.max_epsilon.items()}
    seen = {key: value * factor**4 * 0.05 for key, value in record.max_visible_epsilon.items()}
    return msgspec.structs.replace(
        record,
        facts=facts,
        norm_lower=record.norm_lower * factor,
        map_radius=radius,
        rule="covariance",
        cosine={},
        visible_cosine={},
        max_epsilon=less,
        max_visible_epsilon=seen,
        prediction_radius=None,
        joint_epsilon={},
    )


def copies(outcomes: list[Outcome], count: int, pictures: int = 200) -> Iterator[Outcome]:
    """Records like those of a real run, each a little different."""
    generator = np.random.default_rng(0)
    for item in range(count):
        source = outcomes[item % len(outcomes)]
        record = weaker(source.record, float(generator.uniform(0.9, 1.0)))
        subject = msgspec.structs.replace(record.subject, item=item)
        record = msgspec.structs.replace(record, item=item, subject=subject)
        yield Outcome(item, record, source.pictures if item < pictures else {})


def assumed(outcome: Outcome, source: str = "a guess") -> Outcome:
    """The same with a limit of 1 that nobody has proved; its run's bound is `assumed:1`."""
    bound = msgspec.structs.replace(outcome.record.bound, kind="assumed", source=source)
    subject = msgspec.structs.replace(outcome.record.subject, bound="assumed:1.0")
    return forged(outcome, bound=bound, subject=subject, status="assumed")


def write_run(path: Path, config: RunConfig, outcomes, *, findings=(), **notes: Any) -> Path:
    with Store.create(path, config) as store:
        for outcome in outcomes:
            store.add(outcome)
        for key, value in notes.items():
            store.note(key, value)
        for found in findings:
            shown = store.pictures(found.item)
            attacked = {"attacked": shown["smoothed"], "change": 0.01 * shown["input"]} if shown else {}
            store.add_finding(found, attacked)
    return path


@pytest.fixture
def synthesise(tmp_path, template):
    """Write a run with given outcomes; returns its folder."""

    def synthesise(outcomes, name: str = "run", findings=(), classes=None, features=None, **changes) -> Path:
        notes = {key: value for key, value in (("classes", classes), ("features", features)) if value}
        config = msgspec.structs.replace(template[0], **changes)
        return write_run(tmp_path / name, config, outcomes, findings=findings, **notes)

    return synthesise


def error(item: int, message: str = "expected a finite `x`") -> Outcome:
    return Outcome(item, Failure(item=item, label=1, message=message, seconds=0.1))


def finding(outcome: Outcome, *, searched: bool = True, **changes) -> Finding:
    epsilon = outcome.record.max_epsilon["0.8"]
    found = Finding(
        item=outcome.item,
        epsilon=epsilon,
        certified=0.8,
        worst=0.96875,
        worst_most=0.98,
        length=epsilon * 0.999,
        method="direct",
        broken_at=4 * epsilon if searched else None,
        settings={"cosine": 0.8, "tightness": searched},
    )
    return msgspec.structs.replace(found, **changes)


def scan_of(config: RunConfig, **changes: Any) -> dict[str, Any]:
    """What `attribound tune --out` wrote about the run's model."""
    levels = [
        {"noise": f"gaussian:{s}", "sigma": s, "accuracy_noisy": 1 - s / 4, "median_max_epsilon": s, "certified": None}
        for s in (0.25, 0.5, 1.0)
    ]
    found = {"accuracy": 0.98, "cosine": 0.8, "epsilon": None, "levels": levels, "recommended": "gaussian:0.5"}
    return found | {"advice": "the best", "assumed": False, "model_sha256": config.model_sha256} | changes
