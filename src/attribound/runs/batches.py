"""Rows per model call, by the clock: a short probe at the start of a long run, remembered in its configuration.

Another number of rows may give other last bits, so a run that goes on keeps the number that it began with.
"""

import math
import statistics

from torch import Tensor

from attribound.errors import AttriboundError
from attribound.fields.base import Field
from attribound.fields.pace import seconds
from attribound.sampling.draws import CHUNK_ROWS, batch_rows
from attribound.threads import limited

SHORT_SECONDS = 60.0
"""Runs that take no longer are not probed: there is little to gain."""

_LEAST, _ROUNDS, _GAIN = 8, 3, 1.1
"""The fewest rows that are tried, calls of each number, and how many times as fast another number must be."""


def fastest_rows(field: Field, x: Tensor, draws: int) -> int | None:
    """The rows per model call that make maps fastest here; None: as many as usual, or the run is short.

    Args:
        field: what is sampled.
        x: an input.
        draws: how many maps the run will make in all.
    """
    try:
        with limited(1):
            return _fastest_rows(field, x, draws)
    except (AttriboundError, RuntimeError):  # each input will say by itself what is wrong
        return None


def _fastest_rows(field: Field, x: Tensor, draws: int) -> int | None:
    usual, planned = min(batch_rows(field, x, None), CHUNK_ROWS * field.block), draws * field.block
    if planned <= _ROUNDS * usual:  # to measure would be more work than the run
        return None
    if planned * seconds(field, x, usual) / usual < SHORT_SECONDS:  # a first call, which also warms up, is no faster
        return None
    tried = [rows for rows in _halves(usual) if rows % field.block == 0]
    costs = {rows: _seconds_per_row(field, x, rows) for rows in tried}
    best = min(costs, key=lambda rows: costs[rows])
    return best if costs[best] * _GAIN < costs[usual] else None


def _halves(usual: int) -> list[int]:
    """The usual number and its halves: never more, which would take more memory."""
    count = max(int(math.log2(usual / _LEAST)), 0) if usual >= _LEAST else 0
    return [usual >> step for step in range(count + 1)]


def _seconds_per_row(field: Field, x: Tensor, rows: int) -> float:
    """The median over some calls."""
    return statistics.median(seconds(field, x, rows) for _ in range(_ROUNDS)) / rows
