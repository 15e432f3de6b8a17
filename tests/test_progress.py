"""Progress bars of Python callers, and the time that they say is left."""

import pytest
import torch

import attribound as ab
from attribound.errors import ArgumentError
from attribound.progress import Bar, meter, part
from attribound.runs.runner import Progress
from tests.problems import Linear


class Curved(Linear):
    def forward(self, y: torch.Tensor) -> torch.Tensor:
        return super().forward(torch.tanh(y))


FIELD = ab.Unit(ab.Saliency(Curved(torch.tensor([1.0, 2.0, 3.0])).eval()))
X, NOISE = torch.zeros(3), ab.Gaussian(0.5)


def test_true_shows_a_bar_for_one_input_and_one_for_a_batch(capsys) -> None:
    ab.certify(FIELD, X, noise=NOISE, samples=64, progress=True)
    one = capsys.readouterr().err
    assert one.startswith("\rcertify [")
    assert one.count("100 %") == 1
    assert one.endswith("\n")
    ab.certify_batch(FIELD, X.expand(3, 3), noise=NOISE, samples=64, progress=True)
    assert capsys.readouterr().err.count("100 %") == 1, "one bar for all inputs"
    ab.attack(FIELD, X, noise=NOISE, epsilon=0.1, steps=2, samples=4, rescore_samples=16, progress=True)
    assert capsys.readouterr().err.startswith("\rattack [")


def test_nothing_is_shown_otherwise_and_functions_hear_every_input(capsys) -> None:
    heard: list[tuple[int, int]] = []
    ab.certify_batch(FIELD, X.expand(2, 3), noise=NOISE, samples=64, progress=lambda *told: heard.append(told))
    ab.certify(FIELD, X, noise=NOISE, samples=64, progress=False)
    assert heard.count((64, 64)) == 2
    assert capsys.readouterr().err == ""
    with pytest.raises(ArgumentError, match="expected `progress` True, False or a function"):
        ab.certify(FIELD, X, noise=NOISE, samples=64, progress=3)


def test_the_time_left_is_counted_from_the_first_progress(monkeypatch, capsys) -> None:
    times = iter([100.0, 110.0, 120.0])
    monkeypatch.setattr("attribound.progress.time.monotonic", lambda: next(times))
    bar = meter(True, "work")
    for done in (10, 20, 40):
        bar(done, 100)
    assert [line[-12:] for line in capsys.readouterr().err.split("\r")[1:]] == [
        " " * 12,
        "   80 s left",
        "   40 s left",
    ]


def test_parts_add_up_in_one_bar_and_functions_are_left_alone(monkeypatch, capsys) -> None:
    second = part(Bar("all"), 1, 4)
    second(10, 20)
    assert " 37 %" in capsys.readouterr().err, "thirty of eighty"
    assert part(None, 1, 4) is None
    assert part(print, 1, 4) is print


def test_a_run_says_no_rate_before_its_second_record(monkeypatch) -> None:
    state = Progress(10, done=3, begun_with=2, started=100.0)
    assert state.rate == 0.0
    monkeypatch.setattr("attribound.runs.runner.time.perf_counter", lambda: 104.0)
    assert Progress(10, done=5, begun_with=2, started=100.0).rate == 0.5, "two more in four seconds since the first"
