"""Batch norm while training: attacks and attributions neither move its statistics nor let rows see each other."""

import pytest
import torch
from torch import nn

from attribound.data import Arrays
from attribound.training import Adversarial, Attacking, FrozenNorm, IgNorm, Igr, Schedule, Trades, fit, fresh
from attribound.training.modes import evaluating

PASSES = [
    (Adversarial(epsilon=0.5), 1),
    (Trades(epsilon=0.5), 2),
    (IgNorm(epsilon=0.5), 1),
    (IgNorm(epsilon=0.5, entropy_attack=True), 1),
    (Igr(Trades(epsilon=0.5)), 2),
    (Igr(Trades(epsilon=0.5), one_sided=True), 2),
]
"""Objectives, and how many passes of their losses may use the statistics of the batch."""
OBJECTIVES = [objective for objective, _ in PASSES]
LABELS = torch.tensor([0, 1, 2, 0, 1, 2])


def network() -> nn.Module:
    """Smooth, with batch norm and dropout, in training mode."""

    def make() -> nn.Module:
        layers = (nn.Linear(5, 8), nn.BatchNorm1d(8), nn.Softplus(), nn.Dropout(0.5), nn.Linear(8, 3))
        return nn.Sequential(*layers).train()

    return fresh(make, 0)


def inputs() -> torch.Tensor:
    return torch.randn(6, 5, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("objective", OBJECTIVES, ids=repr)
def test_attacks_move_no_statistic(objective: Attacking) -> None:
    model = network()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    objective.attack(model, inputs(), LABELS, torch.Generator().manual_seed(1))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(layer.training for layer in model.modules())


@pytest.mark.parametrize("objective", OBJECTIVES, ids=repr)
def test_attacked_rows_do_not_see_each_other(objective: Attacking) -> None:
    """The other rows change by 3: the first is moved to the same place, but for rounding."""
    model, x = network().double(), inputs().double()
    others = x + 3.0 * (torch.arange(6) > 0)[:, None]
    one, two = (objective.attack(model, rows, LABELS, torch.Generator().manual_seed(1))[0] for rows in (x, others))
    assert float((one - x[0]).norm()) > 0.1
    assert torch.allclose(one, two, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("objective", "passes"), PASSES, ids=[repr(objective) for objective in OBJECTIVES])
def test_only_passes_of_the_loss_count(objective: Attacking, passes: int) -> None:
    """Two steps of the loop: batch norm has seen each batch as often as the loss needs it, and no attacked path."""
    model = network()
    data = Arrays(inputs(), LABELS)
    fit(model, data, objective, Schedule(epochs=1, batch=3))
    assert int(model[1].num_batches_tracked) == 2 * passes


@pytest.mark.parametrize("objective", OBJECTIVES, ids=repr)
def test_frozen_batch_norm_sees_no_batch_at_all(objective: Attacking) -> None:
    model = network()
    fit(model, Arrays(inputs(), LABELS), FrozenNorm(objective), Schedule(epochs=1, batch=3))
    assert int(model[1].num_batches_tracked) == 0
    assert torch.equal(model[1].running_mean, torch.zeros(8))


def test_modes_are_put_back_one_by_one_even_after_an_error() -> None:
    model = network()
    model[3].eval()
    modes: list[bool] = []

    def fail() -> None:
        with evaluating(model):
            modes.extend(layer.training for layer in model.modules())
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert not any(modes)
    assert [layer.training for layer in model] == [True, True, True, False, True]
    assert model.training
