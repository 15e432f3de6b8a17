"""Stratified draws beside those of a scan."""

import pytest
import torch

import attribound as ab
from attribound.errors import ArgumentError
from attribound.randomness import Purpose
from attribound.sampling.along import Along
from attribound.sampling.stratified import Stratified
from tests.tolerances.known import Add, Mirrored, Steps, Turning

X = torch.zeros(4, dtype=torch.float64)


def source(change, *, purpose=Purpose.ATTACK, seed=0, item=0, **field):
    return Stratified(Along(ab.Unit(Turning(**field)), change, X, 0), purpose, seed, item)


def drawn(one, *asked, **more):
    return torch.cat([chunk.t for chunk in one.chunks(*asked, **more)])


def test_one_draw_in_every_cell():
    t = drawn(source(Add(30.0)), 5.0, 2.0, 150)
    assert ((t - 3.0) / (4.0 / 150)).floor().tolist() == list(range(150))


@pytest.mark.parametrize("other", [{"purpose": Purpose.SCORE}, {"seed": 1}, {"item": 1}])
def test_streams_are_apart(other):
    assert not set(drawn(source(Add(30.0)), 0, 1, 64).tolist()) & set(
        drawn(source(Add(30.0), **other), 0, 1, 64).tolist()
    )
    assert not set(drawn(source(Add(30.0)), 0, 1, 64).tolist()) & set(
        drawn(source(Add(30.0)), 0, 1, 64, part=100).tolist()
    )


def test_of_t_above_zero_only_the_size_is_made():
    change = Mirrored(30.0)
    t = drawn(source(change), 0.0, 4.0, 64)
    assert t.min() < 0
    assert change.seen == t.abs().tolist()


def test_window_means_are_those_of_the_law():
    """A map that turns by 2 degrees per unit: over a window it is as long as its spread leaves it."""
    positions, window = torch.tensor([-10.0, 0.0, 10.0], dtype=torch.float64), 3.0
    means = source(Add(30.0), edge=10.0).means(positions, window, 4000, label=1)
    half = torch.deg2rad(torch.tensor(2 * window, dtype=torch.float64))
    angles = torch.deg2rad(2 * positions)
    expected = torch.stack([angles.cos(), angles.sin()], dim=1) * half.sin() / half
    assert torch.allclose(means.maps[:, :2], expected, atol=1e-3)
    assert torch.allclose(means.shares, torch.tensor([0.0, 0.0, 0.5], dtype=torch.float64), atol=0.01)
    assert means.only(slice(2, 3)).counts.tolist() == [means.counts[2]]


def test_a_window_by_itself_has_all_draws():
    means = source(Add(30.0)).means(torch.tensor([7.3], dtype=torch.float64), 0.1, 100)
    assert means.counts.tolist() == [100]


def test_a_window_without_draws_is_empty():
    positions = torch.tensor([-10.0, -3.3, 10.0], dtype=torch.float64)
    means = source(Add(30.0)).means(positions, 1e-9, 4)
    assert means.counts[1] == 0
    assert not means.maps[1].any()


def test_lists_are_not_drawn_from():
    with pytest.raises(ArgumentError, match="no range to draw from"):
        list(source(Steps(3)).chunks(0, 1, 4))
