"""Runs: the same records however they are made, resumed or interrupted; bad inputs; refusals."""

import itertools

import numpy as np
import pytest
import torch
from msgspec.structs import replace

import attribound as ab
from attribound.certificates import Failure
from attribound.errors import ArgumentError, AttriboundError, FieldError, StoredDataError
from attribound.models import load_shipped
from attribound.runs import Store, summarise
from attribound.runs.engines import Local
from attribound.runs.job import Job
from attribound.runs.runner import prepare
from attribound.runs.tasks import Outcome, Task
from attribound.runs.work import Worker
from tests.runs.conftest import CONFIG, records


def test_records_are_those_of_certify(whole, sample) -> None:
    found = records(whole)
    assert [one["item"] for one in found] == [0, 1, 2, 3]
    field = ab.Unit(ab.Saliency(load_shipped("mnist-cnn-noise")))
    for one in found:
        item = one["item"]
        cert = ab.certify(field, sample[0][item], noise=ab.Gaussian(0.5), samples=64, item=item, seed=0)
        assert one["max_epsilon"] == cert.record.max_epsilon
        assert one["cosine"] == cert.record.cosine
        assert one["norm_lower"] == cert.norm_lower
        assert one["label"] == int(sample[1][item])
        assert 0.9 <= one["accuracy_noisy"] <= 1.0


def test_threads_are_put_back(make) -> None:
    before = torch.get_num_threads()
    make(items=1)
    assert torch.get_num_threads() == before


def test_more_items_continue_a_run_and_shuffling_picks_others(make, whole) -> None:
    make(items=2)
    states = []
    path = make(items=4, progress=lambda state: states.append((state.done, state.total)))
    assert states[0] == (2, 4)
    assert states[-1] == (4, 4)
    assert records(path) == records(whole)
    shuffled = [one["item"] for one in records(make("shuffled", shuffle=True))]
    assert shuffled != [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"samples": 128}, r"was made differently \(samples 64 -> 128\)"),
        ({"noise": "uniform:3"}, r"noise gaussian:0\.5 -> uniform:3"),
        ({"seed": 1}, "seed 0 -> 1"),
        ({"model": "mnist-cnn"}, r"model mnist-cnn-noise -> mnist-cnn, model_sha256 \w{12} -> \w{12}"),
    ],
)
def test_another_configuration_is_refused_and_nothing_is_lost(change, message, make, path) -> None:
    before = records(path)
    with pytest.raises(AttriboundError, match=message):
        make(**change)
    assert records(path) == before


def test_changed_data_is_refused(make, tmp_path) -> None:
    for value in (0.5, 0.6):
        np.savez(tmp_path / "a.npz", images=np.full((1, 28, 28), value, np.float32), labels=[0])
        if value == 0.5:
            make(data=f"npz:{tmp_path / 'a.npz'}")
    with pytest.raises(AttriboundError, match="data_sha256"):
        make(data=f"npz:{tmp_path / 'a.npz'}")


def test_a_second_writer_is_refused(make, path) -> None:
    with Store.append(path), pytest.raises(AttriboundError, match="run is being written by another process"):
        make()
    make()


def test_reading_while_writing(path) -> None:
    with Store.append(path) as writer, Store.read(path) as reader:
        writer.note("fact", 3)
        assert reader.recall("fact") == 3


@pytest.fixture
def flawed(tmp_path) -> str:
    """Three inputs, the second of which is NaN."""
    images = np.random.default_rng(0).random((3, 28, 28)).astype(np.float32)
    images[1] = np.nan
    np.savez(tmp_path / "flawed.npz", images=images, labels=[0, 1, 2])
    return f"npz:{tmp_path / 'flawed.npz'}"


def test_one_bad_item_does_not_stop_a_run(make, flawed) -> None:
    """In other processes: `test_two_workers_resume_a_run_and_only_the_input_that_kills_its_worker_is_given_up`."""
    path = make(data=flawed)
    found = records(path)
    assert [one["status"] for one in found][1] == "error"
    assert found[1] == {
        "format": 3,
        "item": 1,
        "part": "",
        "label": None,
        "status": "error",
        "message": "expected a finite `x`, got NaN or infinity in it",
        "input": "",
        "passing": False,
    }
    with Store.read(path) as store:
        summary = summarise(store)
    assert summary.counts["error"] == 1
    assert summary.total == 3
    assert summary.errors == [{"item": 1, "input": "", "message": found[1]["message"]}]


@pytest.mark.parametrize("passing", [False, True])
def test_failed_inputs_are_tried_again_on_request_or_if_the_reason_may_be_gone(passing, make, whole) -> None:
    path = make(items=2)
    with Store.append(path) as store:
        store.add(Outcome(1, Failure(item=1, message="lost", passing=passing)))
    make(items=2)
    assert (records(path)[1]["status"] == "error") is not passing
    make(items=2, retry=True)
    assert records(path) == records(whole)[:2]


def test_strict_stops_and_keeps_what_was_done(make, flawed, tmp_path) -> None:
    with pytest.raises(AttriboundError, match=r"item 1: expected a finite .*--strict stops here"):
        make(data=flawed, strict=True)
    assert len(records(tmp_path / "run")) == 2


class Broken(torch.nn.Module):
    """Fails on every input but black ones."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = load_shipped("mnist-cnn-noise")

    def forward(self, x):
        if float(x.mean()) > 0.3:
            raise RuntimeError("out of\nmemory")
        return self.inner(x)


def test_a_failing_model_is_an_error_record(monkeypatch) -> None:
    monkeypatch.setattr("attribound.runs.job.open_model", lambda *_, **__: Broken().eval())
    worker = Worker(Job(replace(CONFIG, noise="uniform:20")))
    monkeypatch.setattr(worker.data, "input", lambda _: torch.ones(1, 28, 28))
    record = worker.run(Task(0, True)).record
    assert isinstance(record, Failure)
    assert "out of memory" in record.message
    assert record.passing, "memory may be free again when the run is resumed"


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"model": "vgg"}, ArgumentError, "expected --model"),
        ({"output": "prob"}, ArgumentError, "output"),
        ({"arch": "resnet50"}, ArgumentError, "mnist-cnn-noise is a small-cnn, not a resnet50"),
        ({"device": "quantum"}, ArgumentError, "cannot use --device quantum"),
        ({"data": "nothing"}, ArgumentError, "expected --data"),
        ({"noise": "laplace:1"}, ArgumentError, "expected a noise"),
        ({"bound": "tight"}, ArgumentError, "expected a bound"),
        ({"attribution": "tea-leaves"}, ArgumentError, "expected an attribution"),
        ({"alpha": 2.0}, ArgumentError, "alpha"),
        ({"cosines": (1.5,)}, ArgumentError, "cosine"),
        ({"cosines": ()}, ArgumentError, "expected at least one cosine"),
        ({"epsilons": (-1.0,)}, ArgumentError, "epsilon"),
        ({"data": "photos"}, FieldError, "the model does not accept one input of shape"),
    ],
)
def test_bad_configurations_fail_before_anything_is_written(change, error, message, make, tmp_path) -> None:
    with pytest.raises(error, match=message):
        make(**change)
    assert not (tmp_path / "run").exists()


def test_folders_and_files_that_are_no_runs(tmp_path, make) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoredDataError, match="expected --out to be a folder"):
        make("file")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("")
    with pytest.raises(StoredDataError, match="is a folder with other files"):
        make("full")
    with pytest.raises(StoredDataError, match="is not a run: expected a folder written by"):
        Store.read(tmp_path / "full")
    (tmp_path / "full" / "run.sqlite").write_bytes(b"not a database at all" * 100)
    with pytest.raises(StoredDataError, match="is not a run"):
        Store.read(tmp_path / "full")


def test_pictures_are_kept_for_the_first_inputs(whole, sample) -> None:
    with Store.read(whole) as store:
        assert [item for item in store.pictured() if "input" in store.pictures(item)] == [0, 1]
        assert set(store.pictures(3)) == {"smoothed"}, "kept of the first inputs in any case, for the chance level"
        found = store.pictures(1)
        assert set(found) == {"input", "plain", "smoothed"}
        assert np.allclose(found["input"], sample[0][1].numpy())
        assert np.linalg.norm(found["smoothed"]) == pytest.approx(records(store.path)[1]["norm"], rel=1e-6)


def test_another_program_with_the_same_weights_is_another_model(make, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = "from attribound.models import load_shipped\ndef make():\n    return load_shipped('mnist-cnn')\n"
    (tmp_path / "changing.py").write_text(source)
    make(model="changing:make", items=1)
    (tmp_path / "changing.py").write_text(source + "# another program\n")
    with pytest.raises(AttriboundError, match="code_sha256"):
        make(model="changing:make", items=1)


def test_fewer_items_do_not_shrink_a_run(make) -> None:
    make(items=2)
    with Store.read(make(items=1)) as store:
        assert store.config.items == 2


def test_two_workers_resume_a_run_and_only_the_input_that_kills_its_worker_is_given_up(
    make, sample, tmp_path, monkeypatch
) -> None:
    """Workers are processes: the poison is in the model, switched on by the environment. Input 2 is an error.

    What was made before in this process and what the workers make is what one process makes without the poison.
    """
    images = sample[0][:5].numpy().copy()
    images[2] = np.nan
    np.savez(tmp_path / "five.npz", images=images, labels=np.arange(5))
    asked = {"model": "tests.runs.poison:make", "data": f"npz:{tmp_path / 'five.npz'}", "items": 5}
    stops = itertools.count()
    assert len(records(make(stop=lambda: next(stops) >= 1, **asked))) == 1
    monkeypatch.setenv("ATTRIBOUND_TEST_POISON", "1")
    found = records(make(engine=Local(2), **asked))
    assert [one["status"] for one in found] == ["certified", "error", "error", "certified", "certified"]
    assert found[1]["message"] == "its worker died 3 times (out of memory?)"
    assert found[2]["message"] == "expected a finite `x`, got NaN or infinity in it"
    monkeypatch.delenv("ATTRIBOUND_TEST_POISON")
    alone = records(make("alone", **asked))
    assert [one for one in found if one["item"] != 1] == [one for one in alone if one["item"] != 1]
    assert alone[1]["status"] == "certified"


def test_preparing_fills_in_the_hashes() -> None:
    config, job = prepare(CONFIG)
    assert len(config.model_sha256) == len(config.data_sha256) == 64
    assert all(value.is_shared() for value in job.weights.values())


def test_assumed_limits_are_marked(make) -> None:
    assert {one["status"] for one in records(make(bound="assumed:1000", attribution="saliency"))} <= {
        "assumed",
        "uncertified",
    }
