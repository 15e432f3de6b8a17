"""The loop: learns, resumes to the same weights, stops, survives bad losses and bad files."""

import pytest
import torch

from attribound.data import open_data
from attribound.errors import ArgumentError, AttriboundError, StoredDataError
from attribound.models import SmallCNN
from attribound.noise import Gaussian
from attribound.training import Schedule, Standard, WithNoise, accuracy, fit, fresh

OBJECTIVE, SCHEDULE = WithNoise(Standard(), Gaussian(0.2)), Schedule(epochs=4, batch=50)


def train(checkpoint=None, report=None, schedule=SCHEDULE) -> torch.nn.Module:
    torch.manual_seed(0)
    model = SmallCNN()
    fit(model, open_data("mnist-sample"), OBJECTIVE, schedule, report=report, checkpoint=checkpoint)
    return model


def same(one: torch.nn.Module, two: torch.nn.Module) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))


def test_training_learns_and_is_reproducible() -> None:
    one, two = train(), train()
    assert accuracy(one, open_data("mnist-sample")) > 0.5
    assert same(one, two)
    assert not one.training


def test_an_interrupted_training_ends_with_the_same_weights(tmp_path) -> None:
    path = tmp_path / "state.safetensors"
    train(path, report=lambda epoch, loss: epoch == 2)
    epochs: list[int] = []
    resumed = train(path, report=lambda epoch, loss: epochs.append(epoch))
    assert epochs == [3, 4]
    assert same(resumed, train())


def test_early_stop() -> None:
    epochs: list[int] = []

    def report(epoch: int, loss: float) -> bool:
        epochs.append(epoch)
        return epoch == 1

    train(report=report)
    assert epochs == [1]


class Doomed(Standard.__base__):
    """Fine for one epoch, then NaN."""

    def __init__(self) -> None:
        self.calls = 0

    def __repr__(self) -> str:
        return repr(OBJECTIVE)  # so that the good objective may go on from its checkpoint

    def loss(self, model, inputs, labels, generator):
        self.calls += 1
        value = Standard().loss(model, inputs, labels, generator)
        return value * float("nan") if self.calls > 6 else value


def test_a_bad_loss_stops_and_keeps_the_last_good_checkpoint(tmp_path) -> None:
    path = tmp_path / "state.safetensors"
    with pytest.raises(AttriboundError, match="the loss became nan in epoch 2: try a smaller rate"):
        fit(fresh(SmallCNN, 0), open_data("mnist-sample"), Doomed(), SCHEDULE, checkpoint=path)
    good = train(path)
    assert all(torch.isfinite(p).all() for p in good.parameters())


def test_a_foreign_file_is_not_a_checkpoint(tmp_path) -> None:
    path = tmp_path / "state.safetensors"
    path.write_bytes(b"not a checkpoint")
    with pytest.raises(StoredDataError, match="is not a checkpoint of this training"):
        train(path)


def test_a_checkpoint_of_another_training_is_refused(tmp_path) -> None:
    path = tmp_path / "state.safetensors"
    train(path, report=lambda epoch, loss: True)
    with pytest.raises(StoredDataError, match=r"is not a checkpoint of this training: it holds .*epochs=4.*epochs=5"):
        train(path, schedule=Schedule(epochs=5, batch=50))
    with pytest.raises(StoredDataError, match="is not a checkpoint of this training"):
        fit(fresh(SmallCNN, 9), open_data("mnist-sample"), OBJECTIVE, SCHEDULE, checkpoint=path)  # other weights


@pytest.mark.parametrize(
    "bad",
    [
        {"rate": float("nan")},
        {"rate": -1.0},
        {"momentum": 0.0},
        {"decay": -1.0},
        {"batch": 0},
        {"images": 0},
        {"rise": 0.0},
    ],
)
def test_bad_schedules(bad) -> None:
    with pytest.raises(ArgumentError, match=next(iter(bad))):
        Schedule(**bad)


@pytest.mark.parametrize(("images", "steps"), [(None, 24), (20, 1), (300, 6), (310, 7), (650, 13)])
def test_as_many_images_as_asked(images, steps) -> None:
    """300 images in batches of 50; the rate falls over exactly these steps."""
    schedule = Schedule(epochs=4, batch=50, images=images)
    rates: list[float] = []
    seen: list[int] = []

    class Counted(Standard.__base__):
        def loss(self, model, inputs, labels, generator):
            seen.append(len(inputs))
            return Standard().loss(model, inputs, labels, generator)

    def progress(what: str, done: int, total: int) -> None:
        rates.append(schedule.part(300, int(what.split()[1]) - 1, done))

    fit(fresh(SmallCNN, 0), open_data("mnist-sample"), Counted(), schedule, progress=progress)
    assert len(seen) == steps
    assert sum(seen) == (images or 4 * 300)
    assert rates == pytest.approx([(step + 1) / steps for step in range(steps)])


def test_rates_rise_and_fall() -> None:
    rates = [Schedule(rate=1.0).rate_at(part / 100) for part in range(101)]
    assert max(rates) == pytest.approx(1.0, abs=1e-3)
    assert rates[30] > rates[10] > rates[0] == pytest.approx(0.04)
    assert rates[100] == pytest.approx(0.0, abs=1e-5)
