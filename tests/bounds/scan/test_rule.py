"""The rule against the slow reference, and its parts against brute force."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attribound.bounds.scan import Pilot, Tally, angle_curve, map_reach, plan_grid, share_reach
from attribound.bounds.scan.directions import Cone, sphere_maximum
from attribound.bounds.scan.loss import best_bets, best_share_bets, curvature
from attribound.bounds.scan.reach import _margins
from attribound.errors import ArgumentError
from tests.bounds.scan.scanning import scanned, turning
from tests.reference import scan as reference


@given(st.floats(0.01, 0.99), st.floats(0, 1), st.floats(0, 50))
def test_the_curvature_is_what_the_proof_needs(kappa, inside, above):
    """ln(1 + z) >= z - C z^2 on [-kappa, infinity), with equality at -kappa."""
    for z in (-kappa * inside, above):
        assert math.log1p(z) >= z - float(curvature(kappa)) * z**2 - 1e-12
    assert math.log1p(-kappa) == pytest.approx(-kappa - float(curvature(kappa)) * kappa**2)
    assert float(curvature(kappa)) == pytest.approx(reference.cost_at(kappa), rel=1e-4)


def test_bets_have_the_smallest_loss():
    rng = np.random.default_rng(0)
    spread, least = 10 ** rng.uniform(-5, 0, 200), rng.uniform(1, 2, 200)
    chosen = best_bets(spread, least=least, draws=360, alpha=1e-3)

    def loss(kappa):
        return curvature(kappa) * kappa / least * spread + math.log(1e3) * least / (kappa * 360)

    every = np.array([loss(np.full(200, kappa)) for kappa in np.linspace(0.02, 0.98, 97)])
    np.testing.assert_allclose(loss(chosen), every.min(axis=0), rtol=1e-9)
    assert len(np.unique(chosen)) > 20
    shares = best_share_bets(np.array([0.0, 0.5, 0.7, 1.0]), 0.51)
    assert ((shares > 0) & (shares < 1 / 0.51)).all()


@given(st.integers(0, 10**6), st.integers(2, 6), st.sampled_from([1e-6, 1e-2, 1.0, 10.0]))
def test_no_direction_exceeds_the_maximum_on_the_sphere(seed, size, scale):
    rng = np.random.default_rng(seed)
    values = np.abs(rng.standard_normal((3, size))) * scale
    linear = rng.standard_normal((3, size)) * rng.choice([0.0, 0.1, 1.0], size=(3, 1))
    found = sphere_maximum(values, linear)
    points = rng.standard_normal((4000, size))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    seen = (2 * points @ linear.T + points**2 @ values.T).max(axis=0)
    assert (found >= seen - 1e-12).all()
    best = points[np.argmax(2 * points @ linear.T + points**2 @ values.T, axis=0)]
    for _ in range(50):  # climb from the best: the bound is nearly attained
        best = linear + (values + 1) * best
        best /= np.linalg.norm(best, axis=1, keepdims=True)
    climbed = (2 * linear * best + values * best**2).sum(axis=1)
    assert (found >= climbed - 1e-12).all()
    assert (found <= np.maximum(seen, climbed) + 0.3 * (values.max(axis=1) + np.linalg.norm(linear, axis=1))).all()


def test_the_maximum_on_the_sphere_is_attained_where_it_is_known():
    """A multiple of the identity: the maximum is its factor plus twice the length of b. No b: the largest value."""
    assert sphere_maximum(np.full((1, 4), 0.3), np.array([[0.0, 3.0, 4.0, 0.0]])) == pytest.approx(10.3, rel=1e-5)
    assert sphere_maximum(np.array([[0.1, 0.7]]), np.zeros((1, 2))) == pytest.approx(0.7, abs=1e-5)


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("cosine", [0.0, 0.5, 0.8])
@pytest.mark.parametrize("rounds", [1, 2])
def test_margins_agree_with_the_slow_reference(size, cosine, rounds):
    """Never more than the reference; less by what the blocks' cover adds to the second moments, and by rounding."""
    rng = np.random.default_rng(size)
    maps = turning(25, size=size, noise=0.4, rng=rng)
    grid = plan_grid(low=-2, high=1.5, window=0.5, draws=160, size=size)
    pilot = Pilot(grid, size, 1.0)
    for number in range(grid.bins):
        t = grid.pilot_parameters(number, rng.random(4))
        pilot.add(number, t, maps(t), np.ones(4, bool))
    design = pilot.design()
    tally, kept = Tally(design), []
    for _ in range(rounds):
        for block in range(tally.blocks):
            groups = tally.groups_of(block)
            t = grid.parameters(groups, rng.random((len(groups), grid.cells))).reshape(-1)
            names, rows = np.repeat(groups, grid.cells), maps(t)
            tally.add(names, rows, np.ones(len(rows), bool))
            kept += list(zip(t, names, rows, strict=True))
    windows, cone, alpha = tally.windows(), Cone(cosine), 0.05
    kappa = design.bets(cone, alpha, design.least(cone))
    margins = _margins(windows, cone, alpha)
    for j in range(0, len(margins), 11):
        inside = [(t, name, row) for t, name, row in kept if abs(t - grid.positions[j]) <= 0.5]
        assert len(inside) == rounds * grid.per_window
        expected = reference.margin(
            rows=[row for _, _, row in inside],
            centres=[design.centres(np.array([name]))[0] for _, name, _ in inside],
            every_centre=design.centres(np.arange(j, j + 2 * grid.half)),
            reference=design.reference,
            kappa=kappa[j],
            cosine=cosine,
            alpha=alpha,
            half=grid.half,
        )
        assert margins[j] <= expected + 1e-6
        assert margins[j] >= expected - 0.03


@given(st.floats(0, 40), st.floats(0.1, 40), st.floats(0.02, 0.9), st.integers(200, 100_000), st.integers(2, 10**5))
def test_windows_are_whole_groups_and_the_range_is_covered(low, high, part, draws, size):
    window = part * (low + high) / 2
    try:
        grid = plan_grid(low=-low, high=high, window=window, draws=draws, size=size)
    except ArgumentError as error:
        assert "samples" in str(error)  # noqa: PT017
        return
    assert grid.draws <= draws
    assert grid.positions[0] <= -low + 1e-9 * (1 + low)
    assert grid.positions[-1] >= high - 1e-9 * (1 + high)
    assert grid.positions[grid.left] == 0
    assert grid.step * grid.half == pytest.approx(window)
    ends = grid.parameters(np.array([0, grid.groups - 1]), np.zeros((2, grid.cells)))
    assert ends[0, 0] == pytest.approx(grid.positions[0] - window)
    assert ends[1, 0] + grid.step == pytest.approx(grid.positions[-1] + window)
    assert grid.groups * size <= 2**26 or grid.half <= 8


def test_every_cell_has_one_draw():
    grid = plan_grid(low=-1, high=1, window=0.25, draws=3000, size=4)
    rng = np.random.default_rng(0)
    t = grid.parameters(np.arange(grid.groups), rng.random((grid.groups, grid.cells))).reshape(-1)
    assert grid.cells > 1
    width = grid.step / grid.cells
    assert (np.floor((t - grid.low) / width) == np.arange(len(t))).mean() > 0.999
    assert (np.abs((t - grid.low) / width - np.arange(len(t)) - 0.5) <= 0.5 + 1e-6).all()


def test_unequal_cells_are_refused():
    """Pooling more draws of some cells than of others estimates another window: false in all constructed runs."""
    grid = plan_grid(low=-1, high=1, window=0.5, draws=100, size=2)
    pilot = Pilot(grid, 2, 1.0)
    for number in range(grid.bins):
        pilot.add(number, np.zeros(2), np.array([[1.0, 0.0]] * 2), np.ones(2, bool))
    tally = Tally(pilot.design())
    with pytest.raises(ArgumentError, match="whole rounds"):
        tally.windows()
    for block in range(tally.blocks):
        groups = np.repeat(tally.groups_of(block), grid.cells)
        tally.add(groups, np.array([[1.0, 0.0]] * len(groups)), np.ones(len(groups), bool))
    tally.windows()
    tally.add(np.array([3]), np.array([[1.0, 0.0]]), np.ones(1, bool))
    with pytest.raises(ArgumentError, match="whole rounds"):
        tally.windows()
    with pytest.raises(ArgumentError, match="one block"):
        tally.add(np.array([0, grid.groups - 1]), np.eye(2), np.ones(2, bool))


def test_bets_do_not_depend_on_the_draws():
    """Bets that are chosen again for the rounds used are another event each time."""
    rng = np.random.default_rng(0)
    windows = [
        scanned(
            turning(2, noise=0.5, rng=rng), high=20, window=4, draws=800, rounds=rounds, rng=np.random.default_rng(1)
        )
        for rounds in (1, 3)
    ]
    cone = Cone(0.8)
    first, second = (one.design.bets(cone, 0.1, one.design.least(cone)) for one in windows)
    assert windows[1].draws == 3 * windows[0].draws
    assert first.shape == second.shape


def test_sums_are_as_exact_as_float64():
    """A running float32 sum of 200,000 draws is off by more than the loss."""
    rng = np.random.default_rng(0)
    maps = turning(0.0, size=3)
    windows = scanned(lambda t: 0.9 * maps(t), high=8, window=1, draws=200_000, rng=rng)
    assert np.abs(windows.means - np.array([0.9, 0, 0])).max() < 1e-10


@pytest.mark.parametrize("size", [20, 300])
def test_small_and_large_maps(size):
    """Large maps pay for their largest eigenvalue; the reach is a little smaller, and not empty."""
    rng = np.random.default_rng(0)
    windows = scanned(turning(2, size=size, noise=0.3, rng=rng), high=30, window=5, draws=3000, rng=rng)
    left, right = map_reach(windows, cosine=0.8, alpha=1e-3)
    assert -18.4 <= left <= -15.5
    assert 15.5 <= right <= 18.4
    assert windows.moments.ndim == (3 if size == 20 else 1)


def test_the_limit_is_a_unit():
    maps = turning(2, noise=0.0)
    pairs = [
        scanned(lambda t, m=m: m * maps(t), high=30, window=5, draws=2000, limit=m, rng=np.random.default_rng(3))
        for m in (1.0, 7.5)
    ]
    first, second = (map_reach(one, cosine=0.8, alpha=1e-3) for one in pairs)
    assert first == second


def test_nothing_is_proved_without_a_direction():
    windows = scanned(lambda t: np.zeros((len(t), 3)), high=5, window=1, draws=500, rng=np.random.default_rng(0))
    assert map_reach(windows, cosine=0.5, alpha=0.3) == (None, None)
    assert np.isnan(angle_curve(windows, alpha=0.3).proved).all()


def test_references_have_length_1_where_squares_vanish():
    pilot = Pilot(plan_grid(low=-1, high=1, window=0.5, draws=400, size=6), 6, 1.0)
    for number in range(pilot._grid.bins):
        pilot.add(number, np.zeros(2), np.full((2, 6), 1e-3), np.ones(2, bool))
    tiny = np.array([2.3e-162, *[1.5e-162] * 5])
    for aim in (tiny, tiny * 1e100):
        assert abs(np.linalg.norm(pilot.design(aim).reference) - 1) < 1e-12


def test_cosines_are_nested_and_alpha_matters():
    rng = np.random.default_rng(0)
    windows = scanned(turning(2, noise=0.3, rng=rng), high=30, window=5, draws=3000, rng=rng)
    ends = [map_reach(windows, cosine=cosine, alpha=1e-3)[1] for cosine in (0.0, 0.5, 0.8, 0.9)]
    assert ends == sorted(ends, reverse=True)
    assert map_reach(windows, cosine=0.8, alpha=1e-12)[1] < map_reach(windows, cosine=0.8, alpha=0.1)[1]


def test_a_change_of_one_sign_has_one_side_with_all_of_alpha():
    rng = np.random.default_rng(0)
    one = scanned(turning(2), low=0, high=30, window=5, draws=2000, rng=rng)
    left, right = map_reach(one, cosine=0.8, alpha=1e-3)
    assert left == 0.0
    # The window at 0 is folded: its mean has turned by 5 degrees, not by 0.
    assert 17 <= right <= 21
    assert one.angles[0] == pytest.approx(0, abs=0.02)


def test_the_curve_is_above_the_truth_and_not_far():
    rng = np.random.default_rng(0)
    windows = scanned(turning(2, noise=0.2, rng=rng), high=30, window=5, draws=4000, rng=rng)
    curve = angle_curve(windows, alpha=1e-3)
    start = math.degrees(math.acos(windows.design.reference[0]))
    truth = np.abs(2 * curve.t)
    assert (curve.proved >= truth - start - 1e-6).all()
    assert np.nanmax(curve.proved - truth) < 12
    np.testing.assert_allclose(curve.sampled, truth, atol=4)
    assert 0.0 in curve.t


def walked(holds, grid):
    """The walk outward, step by step."""
    ends = []
    for step in (-1, 1):
        j, last = grid.left, None
        while 0 <= j < len(holds) and holds[j]:
            last, j = grid.positions[j], j + step
        ends.append(last)
    return tuple(ends)


@pytest.mark.parametrize("low", [-30, 0])
def test_each_side_has_half_of_alpha_and_stops_at_the_first_failure(low):
    rng = np.random.default_rng(8)
    windows = scanned(turning(2, noise=0.6, rng=rng), low=low, high=30, window=4, draws=900, rng=rng)
    alpha, sides = 0.2, 2 if low else 1
    holds = _margins(windows, Cone(0.8), alpha / sides) > 0
    assert map_reach(windows, cosine=0.8, alpha=alpha) == walked(holds, windows.design.grid)
    assert holds[windows.design.grid.left]
    assert not holds.all()


def test_spread_along_another_direction_costs_little():
    """The largest eigenvalue belongs to a direction that is not dangerous: bounding by it loses reach."""
    rng = np.random.default_rng(0)

    def maps(t):
        rows = turning(2, size=20, noise=0.3, rng=rng)(t)
        rows[:, 5] += rng.standard_normal(len(rows))
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    windows = scanned(maps, high=30, window=3.75, draws=4096, rng=rng)
    design = replace(windows.design, moments=np.linalg.eigvalsh(windows.design.moments)[:, -1])
    bounded = replace(windows, design=design, moments=np.linalg.eigvalsh(windows.moments)[:, -1])
    exact, eigenvalue = (map_reach(one, cosine=0.8, alpha=1e-3)[1] for one in (windows, bounded))
    assert 1.2 * eigenvalue <= exact <= 18.6


def test_what_lies_behind_a_bad_interval_is_not_reached():
    def maps(t):
        rows = np.tile([1.0, 0.0, 0.0], (len(t), 1))
        rows[(t > 10) & (t < 14)] = (-1.0, 0.0, 0.0)
        return rows

    windows = scanned(maps, high=30, window=2, draws=3000, rng=np.random.default_rng(0))
    holds = _margins(windows, Cone(0.8), 1e-3) > 0
    assert holds[0]
    assert holds[-1]
    left, right = map_reach(windows, cosine=0.8, alpha=1e-3)
    assert left == pytest.approx(-30)
    assert 8 < right < 12


def test_bets_on_shares_agree_with_the_reference():
    rng = np.random.default_rng(9)
    windows = scanned(
        turning(0.0), high=10, window=2, draws=700, rng=rng, hits=lambda t: rng.random(len(t)) < 1 - np.abs(t) / 12
    )
    grid, alpha = windows.design.grid, 0.1
    threshold = 0.5 + 1 / (4 * grid.half)
    bets = windows.design.share_bets(threshold + 1e-7)
    holds = [
        reference.wealth(round(share * windows.draws), windows.draws, threshold, bet) > math.log(2 / alpha)
        for share, bet in zip(windows.shares, bets, strict=True)
    ]
    assert share_reach(windows, alpha=alpha) == walked(holds, grid)
    assert not all(holds)


def test_the_curve_pays_for_each_of_its_positions():
    rng = np.random.default_rng(10)
    windows = scanned(turning(2, noise=0.4, rng=rng), high=20, window=4, draws=1500, rng=rng)
    curve = angle_curve(windows, alpha=0.1)
    positions = windows.design.grid.positions
    for t, proved in zip(curve.t[::9], curve.proved[::9], strict=True):
        j = int(np.argmin(np.abs(positions - t)))
        angle, each = 90, 0.1 / len(curve.t)
        while angle > 1 and _margins(windows, Cone(math.cos(math.radians(angle - 1))), each)[j] > 0:
            angle -= 1
        assert proved == pytest.approx(angle)


def test_the_class_reaches_to_where_it_changes():
    windows = scanned(
        turning(0.0), high=30, window=5, draws=4000, rng=np.random.default_rng(0), hits=lambda t: (t > -12) & (t < 20)
    )
    left, right = share_reach(windows, alpha=1e-3)
    assert -12 < left < -10  # half of the window is lost at -12
    assert 18 < right < 20
    flipped = scanned(
        turning(0.0), high=30, window=5, draws=500, rng=np.random.default_rng(0), hits=lambda t: np.abs(t) > 9
    )
    assert share_reach(flipped, alpha=0.2) == (None, None)


@pytest.mark.parametrize(("part", "share"), [(4, 0.93), (8, 0.90)])
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_most_of_the_true_reach_is_proved(part, share, noise):
    """A map that turns by 2 degrees per unit has turned by arccos 0.8 at 18.43."""
    rng = np.random.default_rng(5)
    windows = scanned(turning(2, noise=noise, rng=rng), high=30, window=30 / part, draws=4096, rng=rng)
    left, right = map_reach(windows, cosine=0.8, alpha=1e-3)
    assert min(-left, right) >= share * 18.43
    assert max(-left, right) <= 18.6
