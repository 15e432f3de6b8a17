"""Threads: one while something is certified, and the user's own setting afterwards, whatever happens in between."""

import threading

import pytest
import torch

import attribound as ab
from attribound import demo
from attribound.attacks import launch
from attribound.errors import ArgumentError, StoredDataError
from attribound.threads import limited
from tests.problems import Linear


class Counting(Linear):
    """Notes how many threads torch has at every call."""

    def __init__(self) -> None:
        super().__init__(torch.ones(4))
        self.seen: set[int] = set()

    def forward(self, y):
        self.seen.add(torch.get_num_threads())
        return super().forward(y)


@pytest.fixture(autouse=True)
def three_threads():
    """A setting of the user's own."""
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def in_a_new_thread(job):
    results = []
    thread = threading.Thread(target=lambda: results.append(job()))
    thread.start()
    thread.join()
    return results[0]


def certify(model, **options):
    return ab.certify(
        ab.Unit(ab.Saliency(model)), torch.zeros(4), 0, noise=ab.Gaussian(1.0), samples=32, seed=0, **options
    )


@pytest.mark.parametrize(("options", "threads"), [({}, 1), ({"threads": 2}, 2), ({"threads": None}, 3)])
def test_a_certificate_takes_the_threads_it_was_given(options, threads) -> None:
    model = Counting()
    certify(model, **options)
    assert model.seen == {threads}
    assert torch.get_num_threads() == 3
    assert in_a_new_thread(torch.get_num_threads) == 3


def test_batches_and_attacks_too() -> None:
    model = Counting()
    field, noise = ab.Unit(ab.Saliency(model)), ab.Gaussian(1.0)
    ab.certify_batch(field, torch.zeros(2, 4), 0, noise=noise, samples=32)
    launch.attack(field, torch.zeros(4), 0, epsilon=0.1, noise=noise, method="random", steps=1, rescore_samples=8)
    assert 1 in model.seen
    assert model.seen <= {1, 3}, "3: a look at the input before the work begins"
    assert torch.get_num_threads() == 3


def test_the_demo_is_like_a_run(tmp_path, monkeypatch) -> None:
    seen = []
    monkeypatch.setattr(demo, "_certify", lambda *arguments: seen.append(torch.get_num_threads()))
    with pytest.raises(StoredDataError, match="is not a run"):  # there is none to report about
        demo.run_demo(tmp_path, {"one": None}, lambda what, done, total: None)
    assert seen == [1]
    assert torch.get_num_threads() == 3


def test_errors_leave_nothing_behind() -> None:
    def broken(y):
        raise KeyError("broken")

    with pytest.raises(KeyError):
        certify(broken)
    with pytest.raises(ArgumentError, match="threads"):
        certify(Linear(torch.ones(4)), threads=0)
    assert torch.get_num_threads() == 3


def test_limits_within_limits() -> None:
    with limited(2):
        with limited(1):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    assert torch.get_num_threads() == 3


def test_a_thread_that_begins_meanwhile_does_not_keep_the_limit() -> None:
    """Torch tells a new thread the number that was set last: 1, while another thread is limited."""
    inside, leave = threading.Event(), threading.Event()
    after = []

    def other():
        with limited(1):
            inside.set()
            leave.wait(10)
        after.append(torch.get_num_threads())

    with limited(1):
        thread = threading.Thread(target=other)
        thread.start()
        assert inside.wait(10)
    leave.set()
    thread.join()
    assert after == [3]
    assert torch.get_num_threads() == 3
    assert in_a_new_thread(torch.get_num_threads) == 3
