"""Scans of maps given as plain functions of t: no torch, no change, no model."""

import numpy as np

from attribound.bounds.scan import Pilot, Tally, plan_grid


def scanned(maps, *, rounds=1, **options):
    """The windows after these rounds of a scan of `maps`, as `tallied` makes it."""
    tally = tallied(maps, **options)
    return [next(tally) for _ in range(rounds)][-1]


def tallied(maps, *, high, window, draws, rng, low=None, reference=None, limit=1.0, hits=None, pilot_maps=None):
    """The windows after one round, two rounds and so on.

    maps: (k,) parameters to (k, m) rows. A fifth of the draws is the pilot, of `pilot_maps` if these are given: what a
    pilot sees may be anything.
    """
    low = -high if low is None else low
    size = maps(np.zeros(1)).shape[1]
    hits = hits or (lambda t: np.ones(len(t), bool))
    one_sided = low == 0
    grid = plan_grid(low=low, high=high, window=window, draws=draws - draws // 5, size=size)
    pilot = Pilot(grid, size, limit)
    for number in range(grid.bins):
        t = grid.pilot_parameters(number, rng.random(max(draws // 5 // grid.bins, 2)))
        t = np.abs(t) if one_sided else t
        pilot.add(number, t, (pilot_maps or maps)(t), hits(t))
    design = pilot.design(reference)
    tally = Tally(design)
    while True:
        for block in range(tally.blocks):
            groups = tally.groups_of(block)
            t = grid.parameters(groups, rng.random((len(groups), grid.cells))).reshape(-1)
            t = np.abs(t) if one_sided else t
            tally.add(np.repeat(groups, grid.cells), maps(t), hits(t))
        yield tally.windows()


def turning(speed, *, size=20, noise=0.0, rng=None):
    """A map that turns by `speed` degrees per unit, with unit noise around it if asked."""

    def maps(t):
        angle = np.radians(speed * np.asarray(t, np.float64))
        rows = np.zeros((len(angle), size))
        rows[:, 0], rows[:, 1] = np.cos(angle), np.sin(angle)
        if noise:
            rows += noise * rng.standard_normal(rows.shape) / np.sqrt(size)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    return maps
