"""Model, data and field are opened once in every process of a run, and hashed once."""

import pickle
import sys
from collections import Counter
from dataclasses import replace as changed

import pytest
from msgspec.structs import replace

from attribound.certification.reopen import open_field
from attribound.data import open_data
from attribound.data.base import Dataset
from attribound.errors import AttriboundError
from attribound.hashes import model_hash
from attribound.models import load_model
from attribound.runs import RunConfig
from attribound.runs.engines import Local
from attribound.runs.job import Job
from attribound.runs.luggage import Heading
from attribound.runs.runner import prepare, run
from attribound.runs.tasks import Task
from attribound.runs.tolerance_setup import prepare_tolerances
from attribound.runs.workers import worker_of

CONFIG = RunConfig(model="mnist-cnn", data="mnist-sample", samples=32, items=2)
TOLERANCES = replace(CONFIG, noise="", changes=("flip",), epsilons=(), cosines=(0.8,))
ONCE = {"open_data": 1, "load_model": 1, "open_field": 1, "model_hash": 1}


@pytest.fixture
def calls(monkeypatch) -> Counter[str]:
    """How often each is called, whoever imported it."""
    counts: Counter[str] = Counter()

    def counting(function):
        def called(*arguments, **options):
            counts[function.__name__] += 1
            return function(*arguments, **options)

        return called

    for function in (open_data, load_model, open_field, model_hash):
        for name, module in list(sys.modules.items()):
            if name.startswith("attribound") and vars(module).get(function.__name__) is function:
                monkeypatch.setattr(module, function.__name__, counting(function))
    kind = type(open_data("mnist-sample"))
    assert issubclass(kind, Dataset)
    monkeypatch.setattr(kind, "sha256", counting(kind.sha256))
    return counts


@pytest.mark.parametrize("simultaneous", [False, True])
def test_a_run_in_one_process_opens_once(simultaneous, calls, tmp_path) -> None:
    _, job = prepare(CONFIG, simultaneous=simultaneous)
    run(job, tmp_path / "run", Local(1))
    assert calls == {**ONCE, "sha256": 1}


def test_a_run_of_tolerances_opens_once(calls, tmp_path) -> None:
    _, job = prepare_tolerances(TOLERANCES)
    run(job, tmp_path / "run", Local(1))
    assert calls == {**ONCE, "sha256": 1}


def test_every_other_process_opens_once(calls) -> None:
    for _, job in (prepare(CONFIG), prepare_tolerances(TOLERANCES)):
        sent = pickle.loads(pickle.dumps(job))
        assert sent.opened is None
        calls.clear()
        outcome = worker_of(sent).run(Task(0, picture=False, part=sent.config.parts[0]))
        assert outcome.record.model_sha256 == job.config.model_sha256
        assert calls == ONCE


def test_a_model_that_changes_between_two_processes_is_refused() -> None:
    _, job = prepare(CONFIG)
    other = replace(job.config, model_sha256="0" * 64)
    with pytest.raises(AttriboundError, match="mnist-cnn has changed since the run was prepared"):
        worker_of(Job(other))


def test_a_worker_with_a_heading_does_not_look_for_the_data() -> None:
    """Inputs come with their tasks: the data's name means nothing on another machine."""
    config, job = prepare(replace(CONFIG, items=1, pictures=0))
    heading = Heading(job.open().data)
    absent = replace(config, data="npz:nowhere.npz")
    opened = changed(job, config=absent, heading=heading, opened=None).open()
    assert opened.data is heading


def test_workers_that_cannot_begin_end_the_run_with_their_reason():
    """Replaced by others that fail the same way, they would go on until the last input is given up."""
    _, job = prepare(CONFIG)
    job = changed(job, config=replace(job.config, model_sha256="0" * 64))
    tasks = [Task(item, picture=False) for item in range(2)]
    with pytest.raises(AttriboundError, match="mnist-cnn has changed since the run was prepared"):
        list(Local(2).outcomes(job, tasks, lambda: False))
