import math

import numpy as np
import pytest
import torch

from attribound.bounds import Ball
from attribound.bounds.moment import Band, largest_shift
from attribound.sampling.moment_sums import BatchSums, PairSums, batch_moments, moment_sums
from tests.reference import moment as reference
from tests.sampling.moments_alone import MomentStatistic


def normal_rows(count, dim, seed=0, scale=0.1):
    generator = torch.Generator().manual_seed(seed)
    return scale * torch.randn(count, dim, dtype=torch.float64, generator=generator)


def unit_draws(count, dim=3, seed=0, spread=0.2):
    """Unit vectors around the first axis."""
    rows = normal_rows(count, dim, seed, spread)
    rows[:, 0] += 1
    return rows / rows.norm(dim=1, keepdim=True)


def bounds(rows):
    return batch_moments(rows.float(), rows.norm(dim=1))


def run(draws, pilot=64, limit=1.0, cosines=(0.8, 0.9), pieces=None):
    statistic = MomentStatistic(cosines, limit=limit, planned=len(draws) - pilot, alpha=1e-3)
    statistic.start(draws[:pilot])
    for part in draws[pilot:].split(pieces or len(draws)):
        statistic.add(part)
    return statistic


@pytest.mark.parametrize("dim", [2, 3])
def test_batch_moments_are_above_every_direction(dim):
    for seed in range(5):
        rows = normal_rows(200, dim, seed) * torch.linspace(1, 2, dim)
        turn = np.linspace(0, np.pi, 2000)
        ring = np.stack([np.cos(turn), np.sin(turn)], axis=1)
        sphere = np.random.default_rng(seed).standard_normal((20_000, 3))
        every = ring if dim == 2 else sphere / np.linalg.norm(sphere, axis=1, keepdims=True)
        square, fourth = reference.moments(rows.numpy(), every)
        second_bound, fourth_bound = bounds(rows)
        assert square <= second_bound <= 1.01 * square
        assert fourth <= fourth_bound <= 1.6 * fourth


def test_batch_moments_of_normal_rows_come_close_to_three():
    rows = normal_rows(2000, 4)
    rows[:, 0] *= 3
    second, fourth = bounds(rows)
    assert fourth / second**2 == pytest.approx(3.0, abs=0.4)


def test_float32_products_never_lower_the_bounds():
    """Long rows that share a large part: the worst case for float32."""
    rows = normal_rows(64, 3000, scale=1e-3) + 0.02
    second, fourth = bounds(rows)
    gram = (rows @ rows.T).numpy()
    kernel = gram**2
    kernel = kernel - kernel.mean(0) - kernel.mean(1)[:, None] + kernel.mean()
    exact = np.linalg.eigvalsh(gram)[-1] / 64
    assert exact <= second <= 1.01 * exact
    assert exact**2 + max(np.linalg.eigvalsh(kernel)[-1], 0) / 64 <= fourth


def test_rows_without_spread_have_moments_of_next_to_nothing():
    second, fourth = bounds(torch.zeros(512, 5, dtype=torch.float64))
    assert 0 < second < 1e-20
    assert 0 < fourth < 1e-20


def test_low_float32_precision_is_not_trusted():
    before = torch.get_float32_matmul_precision()
    draws = unit_draws(700)
    torch.set_float32_matmul_precision("medium")
    try:
        fact = run(draws).prove(draws.mean(dim=0), 0.01)[0]
    finally:
        torch.set_float32_matmul_precision(before)
    assert fact.second == pytest.approx(run(draws).prove(draws.mean(dim=0), 0.01)[0].second, rel=1e-4)


def test_facts_bound_the_moments_along_every_direction_that_matters():
    for seed in range(5):
        draws = unit_draws(1500, seed=seed, spread=0.4)
        mean, radius = draws.mean(dim=0), 0.02
        centre = draws[:64].mean(dim=0)
        rng = np.random.default_rng(seed)
        for fact in run(draws).prove(mean, radius):
            shrinkage = Band.around(fact.cosine, fact.tilt).shrinkage(fact.stretch)
            for _ in range(20):
                offset = rng.standard_normal(3)
                truth = mean.numpy() + radius * offset / np.linalg.norm(offset)
                around = reference.directions(truth, fact.cosine, count=90)
                square, fourth = reference.moments((draws[64:] - centre).numpy(), around)
                assert square <= shrinkage * fact.second
                assert fourth <= shrinkage**2 * fact.fourth


def test_the_tilt_holds_every_map_within_the_radius_and_no_more():
    draws = unit_draws(300, spread=0.5)
    mean, centre = draws.mean(dim=0), draws[:64].mean(dim=0)
    rng = np.random.default_rng(0)
    for radius in (0.0, 0.05, 0.4):
        tilt = run(draws).prove(mean, radius)[0].tilt
        offsets = torch.from_numpy(rng.standard_normal((20_000, 3)))
        maps = mean + radius * offsets / offsets.norm(dim=1, keepdim=True)
        largest = float(torch.arccos(maps @ centre / maps.norm(dim=1) / centre.norm()).max())
        assert largest <= tilt <= largest + 0.02


def test_how_draws_are_cut_into_pieces_hardly_matters_and_asking_early_changes_nothing():
    draws = unit_draws(1300)
    mean = draws.mean(dim=0)
    whole, pieces = run(draws), run(draws, pieces=100)
    assert whole.draws == pieces.draws == 1236
    for one, other in zip(whole.prove(mean, 0.01), pieces.prove(mean, 0.01), strict=True):
        assert one.second == pytest.approx(other.second, rel=0.02)
        assert one.fourth == pytest.approx(other.fourth, rel=0.1)
        assert one.design == other.design
    assert pieces.prove(mean, 0.01) == pieces.prove(mean, 0.01)
    again = MomentStatistic((0.8, 0.9), limit=1.0, planned=1236, alpha=1e-3)
    again.start(draws[:64])
    for part in draws[64:].split(100):
        again.add(part)
        assert again.prove(mean, 0.01)[0].draws == again.draws
    assert again.prove(mean, 0.01) == pieces.prove(mean, 0.01)


@pytest.mark.parametrize("limit", [1e-30, 1e30])
def test_the_unit_of_the_draws_does_not_matter(limit):
    draws = unit_draws(600)
    mean = draws.mean(dim=0)
    plain, scaled = (
        run(draws).prove(mean, 0.01)[0],
        run(draws * limit, limit=limit).prove(mean * limit, 0.01 * limit)[0],
    )
    assert scaled.second == pytest.approx(plain.second, rel=1e-6)
    assert scaled.fourth == pytest.approx(plain.fourth, rel=1e-6)
    assert scaled.tilt == pytest.approx(plain.tilt, rel=1e-6)


def test_memory_does_not_grow_with_the_draws():
    statistic = MomentStatistic((0.8,), limit=1.0, planned=5000, alpha=1e-3)
    statistic.start(unit_draws(64))
    most = 0
    for seed in range(40):
        statistic.add(unit_draws(128, seed=seed))
        most = max(most, sum(part.numel() for part in statistic._waiting))
    assert statistic.draws == 40 * 128
    assert most <= 512 * 3


def test_where_the_rule_has_no_footing_it_says_nothing():
    draws = unit_draws(300)
    for options, speaks in (({}, True), ({"law": Ball(2, 1.0)}, False), ({"block": 4}, False)):
        statistic = MomentStatistic((0.8,), limit=1.0, planned=236, alpha=1e-3, **options)
        statistic.start(draws[:64])
        statistic.add(draws[64:])
        assert bool(statistic.prove(draws.mean(dim=0), 0.1)) is speaks
    nothing = run(torch.zeros(200, 3, dtype=torch.float64))
    assert nothing.prove(torch.zeros(3, dtype=torch.float64), 0.1) == ()
    line = run(torch.ones(200, 1, dtype=torch.float64))
    assert line.prove(torch.ones(1, dtype=torch.float64), 0.1) == ()
    only_pilot = run(unit_draws(64))
    assert only_pilot.prove(torch.ones(3, dtype=torch.float64), 0.1) == ()


def test_a_direction_that_is_not_known_gives_no_shift():
    draws = unit_draws(600)
    facts = run(draws).prove(draws.mean(dim=0), 2.0)
    assert facts[0].tilt == math.pi
    assert largest_shift(facts[0], norm_lower=0.9, limit=1.0, alpha=0.1) == 0.0


@pytest.mark.parametrize(("dim", "count"), [(2, 128), (2, 2000), (50, 128), (784, 700)])
def test_few_draws_and_small_maps_are_fine(dim, count):
    draws = unit_draws(count, dim=dim, spread=0.3 / math.sqrt(dim))
    mean = draws.mean(dim=0)
    for fact in run(draws).prove(mean, 0.02):
        assert 0 <= largest_shift(fact, norm_lower=0.9 * float(mean.norm()), limit=1.0, alpha=0.05) < 4


def test_hope_is_what_all_planned_draws_would_give():
    draws = unit_draws(1100, dim=10, spread=0.05)
    statistic = MomentStatistic((0.8,), limit=1.0, planned=4000, alpha=1e-3)
    statistic.start(draws[:100])
    statistic.add(draws[100:])
    proved, hoped = statistic.prove(draws.mean(dim=0), 0.02)[0], statistic.hope(draws.mean(dim=0))[0]
    assert hoped.draws == 4000
    reach = [largest_shift(fact, norm_lower=0.95, limit=1.0, alpha=1e-3) for fact in (proved, hoped)]
    assert reach[0] < reach[1]


def worst_moments(rows, count=4000):
    """The largest second and fourth moments over many random directions, and over the rows' own axes."""
    directions = torch.randn(count, rows.shape[1], generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    directions = torch.cat([directions, torch.linalg.svd(rows, full_matrices=False).Vh, rows])
    projections = rows @ torch.nn.functional.normalize(directions, dim=1).T
    return float(projections.square().mean(dim=0).max()), float(projections.pow(4).mean(dim=0).max())


@pytest.mark.parametrize("dim", [2, 5, 20, 31])
def test_pair_sums_are_above_every_direction_and_the_gram_bound_of_one_batch(dim):
    generator = torch.Generator().manual_seed(dim)
    rows = torch.randn(400, dim, generator=generator, dtype=torch.float64).pow(3) / 10
    pairs = PairSums(dim, rows.device)
    for part in rows.split(150):
        pairs.add(part)
    second, fourth = pairs.bounds()
    least_second, least_fourth = worst_moments(rows)
    assert second >= least_second
    assert fourth >= least_fourth
    # The same two eigenvalues by another route; each is at most 0.1 % above the exact one.
    gram_second, gram_fourth = batch_moments(rows, rows.norm(dim=1))
    assert second == pytest.approx(gram_second, rel=2.5e-3)
    assert fourth == pytest.approx(gram_fourth, rel=5e-3)


@pytest.mark.parametrize("size", [1e-200, 1e-60, 1e-7])
def test_pair_sums_of_tiny_or_constant_rows_stay_above(size):
    rows = torch.full((50, 3), size, dtype=torch.float64)
    pairs = PairSums(3, rows.device)
    pairs.add(rows)
    second, fourth = pairs.bounds()
    assert second >= 3 * size**2
    assert fourth >= 9 * size**4


def test_small_maps_take_pairs_and_large_ones_batches():
    assert isinstance(moment_sums(31, torch.device("cpu")), PairSums)
    assert isinstance(moment_sums(32, torch.device("cpu")), BatchSums)
