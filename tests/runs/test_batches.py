"""Rows per model call: measured where that pays, kept by a run that goes on."""

import pytest
import torch
from msgspec.structs import replace

import attribound as ab
from attribound.runs import Store, batches, runner
from attribound.runs.engines import Local
from attribound.runs.runner import Progress, prepare, run
from tests.runs.conftest import CONFIG


@pytest.fixture
def clock(monkeypatch):
    """A machine on which a call costs something, and a row more or less by the number of rows."""
    costs = {"call": 0.0, "row": lambda rows: 1.0}
    monkeypatch.setattr(batches, "seconds", lambda field, x, rows: costs["call"] + rows * costs["row"](rows))
    return costs


@pytest.fixture
def field():
    return ab.Unit(ab.Saliency(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 3)).eval()))


def test_small_calls_are_taken_only_where_they_are_faster(clock, field):
    x = torch.zeros(16)
    assert batches.fastest_rows(field, x, 10_000) is None  # all alike: as usual
    clock["row"] = lambda rows: 1.0 if rows > 32 else 0.8
    clock["call"] = 1e-3
    assert batches.fastest_rows(field, x, 10_000) == 32
    clock["row"] = lambda rows: 1.0 if rows > 32 else 0.95  # not worth other last bits
    assert batches.fastest_rows(field, x, 10_000) is None


def test_a_short_run_is_not_probed(clock, field):
    clock["row"] = lambda rows: 1e-3 if rows > 32 else 1e-9
    assert batches.fastest_rows(field, torch.zeros(16), 50_000) is None
    assert batches.fastest_rows(field, torch.zeros(16), 70_000) == 32


def test_nothing_is_measured_where_that_would_take_longer_than_the_run(field, monkeypatch):
    calls = []
    monkeypatch.setattr(batches, "seconds", lambda field, x, rows: calls.append(rows) or 0.0)
    assert batches.fastest_rows(field, torch.zeros(16), 3 * 256) is None
    assert calls == []
    assert batches.fastest_rows(field, torch.zeros(16), 3 * 256 + 1) is None
    assert calls == [256], "one call settles that a run is short"


def test_no_more_rows_than_usual_and_none_too_few():
    assert batches._halves(256) == [256, 128, 64, 32, 16, 8]
    assert batches._halves(20) == [20, 10]
    assert batches._halves(3) == [3]


def test_a_run_that_goes_on_keeps_its_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "fastest_rows", lambda field, x, draws: 16)
    config, job = prepare(replace(CONFIG, items=1))
    assert config.batch == 16
    run(job, tmp_path / "run", Local(1))
    monkeypatch.setattr(runner, "fastest_rows", lambda field, x, draws: 32)
    _, later = prepare(replace(CONFIG, items=2))
    seen = []
    monkeypatch.setattr(Local, "outcomes", lambda self, job, tasks, stop: iter([seen.append(job.config.batch)][:0]))
    run(later, tmp_path / "run", Local(1))
    assert seen == [16]
    with Store.read(tmp_path / "run") as store:
        assert (store.config.batch, store.config.items) == (16, 2)


def test_progress_counts_draws_since_the_first_record(make):
    states: list[Progress] = []
    make(progress=states.append)
    assert [state.draws for state in states[-1:]] == [3 * CONFIG.samples]
    assert states[-1].draw_rate > 0
