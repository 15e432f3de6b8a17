"""The draws of a scan: where they are, what they depend on, and what is refused."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from attribound.bounds.scan import map_reach, plan_grid
from attribound.changes import Rotation
from attribound.errors import ArgumentError, FieldError, LimitError, NonFiniteError
from attribound.fields import Explanation, Proved, Unit
from attribound.sampling.along import Along
from attribound.sampling.listed import cosines_with, try_all
from attribound.sampling.scan import Scan
from tests.tolerances.known import Add, Mirrored, Steps, Turning

X = torch.zeros(3, dtype=torch.float64)


def scan(change=None, field=None, *, samples=1000, window=5.0, seed=0, item=0, batch=None):
    along = Along(Unit(field or Turning()), change or Add(), X, 0, batch)
    return Scan(along, samples, window, 0, seed, item)


def test_every_cell_has_one_draw_and_the_pilot_is_apart(monkeypatch):
    monkeypatch.setattr("attribound.sampling.witness._SHARE", 0.0)  # calls made again would be seen twice
    change = Add()
    one = scan(change)
    windows = one.run(6)
    grid = windows.design.grid
    first = one.draws(grid) - grid.draws
    pilot, drawn = np.array(change.seen[:first]), np.array(change.seen[first : one.draws(grid)])
    assert len(pilot) + len(drawn) == one.draws(grid) <= 1000
    assert len(pilot) == pytest.approx(200, abs=40)
    width = grid.step / grid.cells
    assert np.array_equal(np.floor((drawn - grid.low) / width + 1e-9), np.arange(grid.draws))
    inside = (drawn - grid.low) / width % 1
    assert abs(inside.mean() - 0.5) < 0.05
    assert abs(np.corrcoef(inside[1:], inside[:-1])[0, 1]) < 0.15
    count = len(pilot) // grid.bins
    fractions = (pilot - grid.low) / grid.bin_width * count % 1
    assert not np.allclose(fractions[:50], inside[:50], atol=1e-3)  # its random numbers are others, too


def test_draws_depend_on_seed_item_and_change_only():
    def means(noise=0.3, **options):
        return scan(field=Turning(noise=noise), **options).run(6).means

    first = means()
    assert np.array_equal(first, means())
    np.testing.assert_allclose(means(noise=0.0, batch=7), means(noise=0.0), atol=1e-12)
    for options in ({"seed": 1}, {"item": 1}, {"change": Add(29.9)}):
        other = means(**options)
        assert other.shape != first.shape or not np.array_equal(other, first)


def test_a_change_of_one_sign_is_never_asked_for_the_other():
    change = Mirrored()
    windows = scan(change).run(6)
    assert min(change.seen) >= 0
    assert max(change.seen) > 30
    assert windows.design.grid.left == 0
    change.low = -3.0
    with pytest.raises(ArgumentError, match="expected a range from 0 for mirrored"):
        scan(change).run(6)


def test_a_random_field_has_fresh_randomness_at_every_draw(monkeypatch):
    """One random sign per call, shared by a batch, would make false proofs."""
    along = Along(Unit(Turning(speed=0.0, noise=0.5)), Add(), X, 0, None)
    seen = along.look(torch.zeros(64, dtype=torch.float64), torch.Generator().manual_seed(0))
    assert len(torch.unique(seen.maps[:, 0])) == 64

    class Recording(Turning):
        drawn = ()

        def explain(self, inputs, target, *, generator=None, create_graph=False):
            explanation = super().explain(inputs, target, generator=generator)
            self.drawn = (*self.drawn, *explanation.maps[:, 5].tolist())
            return explanation

    # Calls that are made again have the same randomness on purpose.
    monkeypatch.setattr("attribound.sampling.scan.Witness", lambda *_: SimpleNamespace(see=bool, check=bool))
    field = Recording(speed=0.0, noise=0.5)
    scan(field=field, samples=1500).run(6)
    assert len(set(field.drawn)) == len(field.drawn) > 1000


def test_maps_are_brought_back_below_the_limit():
    """After turning a map back its corners are lost: only then is it scaled to length 1."""

    class Corners(Turning):
        def explain(self, inputs, target, *, generator=None, create_graph=False):
            return Explanation(inputs.mean(dim=1))

    x = torch.rand(1, 12, 12, generator=torch.Generator().manual_seed(0))
    along = Along(Unit(Corners()), Rotation(45), x, 0)
    seen = along.look(torch.tensor([0.0, 20.0, 45.0], dtype=torch.float64), torch.Generator())
    torch.testing.assert_close(seen.maps.norm(dim=1), torch.ones(3, dtype=torch.float64))


def test_the_reference_may_be_given():
    plain = np.array([0.0, 2.0, 0, 0, 0, 0])
    windows = scan().run(6, plain)
    assert windows.design.reference.tolist() == [0, 1, 0, 0, 0, 0]
    assert map_reach(windows, cosine=0.8, alpha=0.1) == (None, None)


def test_progress_counts_to_the_end():
    counts = []
    scan(samples=2000).run(6, None, lambda done, planned: counts.append((done, planned)))
    assert counts[-1][0] == counts[-1][1] <= 2000
    assert [done for done, _ in counts] == sorted({done for done, _ in counts})


class Bad(Add):
    moves = True

    def __init__(self, how):
        super().__init__()
        self.how = how

    def apply(self, x, t):
        made = super().apply(x, t)
        if self.how == "nan":
            made[t.abs() > 20] = torch.nan
        return made[:, :2] if self.how == "shape" else made

    def back(self, maps, t, shape):
        return maps[:, :2] if self.how == "maps" else maps


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ("nan", NonFiniteError, "the change add made NaN or infinite values at -"),
        ("shape", ArgumentError, r"expected add to keep the input's shape \(3,\), got \(2,\)"),
        ("maps", FieldError, "expected add to keep the shape of the maps it brings back"),
    ],
)
def test_changes_that_break_the_rules(how, error, message):
    with pytest.raises(error, match=message):
        scan(Bad(how)).run(6)


def test_draws_beyond_the_limit_are_found_out():
    along = Along(Proved(Turning(), 0.5, "because"), Add(), X, 0)
    with pytest.raises(LimitError, match="above the claimed limit"):
        Scan(along, 500, 5.0, 0, 0).run(6)


def test_too_few_draws_are_refused():
    with pytest.raises(ArgumentError, match="expected more `samples`: the range needs at least"):
        scan(samples=60, window=1.0).run(6)


def test_lists_and_ranges_are_not_mixed_up():
    along = Along(Unit(Turning()), Steps(), X, 0)
    with pytest.raises(ArgumentError, match="steps has no range to scan"):
        Scan(along, 500, 5.0, 0, 0).run(6)
    with pytest.raises(ArgumentError, match="add has a range"):
        try_all(Along(Unit(Turning()), Add(), X, 0), np.ones(6), 0)


def test_every_alternative_is_tried():
    along = Along(Unit(Turning(edge=10.5)), Steps(300), X, 0)
    plain = np.array([1.0, 0, 0, 0, 0, 0])
    tried = try_all(along, plain, 0)
    assert sorted(tried.places) == [k for k in range(-300, 301) if k]
    np.testing.assert_allclose(tried.cosines, np.cos(np.radians(2 * tried.places)), atol=1e-12)
    assert np.array_equal(tried.kept, tried.places < 11)
    with pytest.raises(FieldError, match="random numbers of its own"):
        try_all(Along(Unit(Turning(noise=0.1)), Steps(), X, 0), plain, 0)


def test_memory_is_bounded_for_large_maps():
    small, large = (plan_grid(low=-1, high=1, window=0.125, draws=10**6, size=size) for size in (49, 150_528))
    assert small.half == 256 or small.half > 200
    assert large.groups * 150_528 <= 2**26
    assert large.cells > small.cells


def test_cosines_of_tiny_maps_are_those_of_their_directions():
    """Squares of entries near 1e-162 vanish; the cosine of these two was 1."""
    plain = np.array([1.6e-162, 1.2e-162])
    maps = np.array([[1.6e-162, -1.2e-162], [0.0, 0.0], [1e-300, 0.0]])
    assert cosines_with(maps, plain) == pytest.approx([0.28, -1.0, 0.8])
    assert cosines_with(maps, 0 * plain).tolist() == [-1.0, -1.0, -1.0]
