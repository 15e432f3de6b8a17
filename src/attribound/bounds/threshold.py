"""The largest argument at which a falling function is still large enough: what every certified epsilon is."""

from collections.abc import Callable

import numpy as np

from attribound.checks import FloatArray

_ROUNDS = 60
_EVENLY = np.array([0.25, 0.5, 0.75])
_AROUND = np.array([-1e-1, -1e-2, -1e-3, -1e-5, 1e-5, 1e-3, 1e-2, 1e-1])
"""Where a bracket is looked at: evenly, for steps, and around where its chord crosses, for what is smooth."""

_FEW = 256
"""Of more brackets at once, only the middle is looked at: rules answer very many questions on a coarser grid."""


def largest_argument(
    value: Callable[[FloatArray], FloatArray],
    wanted: float | FloatArray,
    low: FloatArray,
    high: FloatArray,
    tolerance: float,
) -> FloatArray:
    """The largest argument found whose value is at least `wanted`, to `tolerance`; `low` where there is none.

    Every answer above `low` was evaluated and found large enough. Brackets only ever shrink to neighbouring points of
    which the left one holds and the right one does not, so a value that does not quite fall costs nothing but size.
    Each bracket is searched as if it were alone: what else is asked never changes an answer.

    Args:
        value: of arguments (..., K), for any K.
        wanted: the value wanted, one for all or (..., 1).
        low: (..., 1) the value is known to hold there, or nothing is asked there.
        high: (..., 1) the value does not hold there.
        tolerance: absolute.
    """
    low, high, _ = np.broadcast_arrays(low, high, wanted)
    if np.all(high - low <= tolerance):
        return low
    ends = value(np.concatenate([low, high], axis=-1))
    at_low, at_high = ends[..., :1], ends[..., 1:]
    for _ in range(_ROUNDS):
        if np.all(high - low <= tolerance):
            break
        places = _fractions(at_low - wanted, wanted - at_high) if low.size <= _FEW else np.array([0.5])
        points = low + np.where(high - low > tolerance, high - low, 0.0) * places
        values = value(points)
        held = np.logical_and.accumulate(values >= wanted, axis=-1).sum(axis=-1, keepdims=True)
        points = np.concatenate([low, points, high], axis=-1)
        values = np.concatenate([at_low, values, at_high], axis=-1)
        low, high = (np.take_along_axis(points, held + step, -1) for step in (0, 1))
        at_low, at_high = (np.take_along_axis(values, held + step, -1) for step in (0, 1))
    return low


def _fractions(above: FloatArray, below: FloatArray) -> FloatArray:
    """(..., K) rising places within a bracket, from how far its ends are above and below what is wanted."""
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = np.where(above + below > 0, above / (above + below), 0.5)
    around = np.clip(crossing + _AROUND, 0.0, 1.0)
    even = np.broadcast_to(_EVENLY, (*around.shape[:-1], len(_EVENLY)))
    return np.sort(np.concatenate([even, around], axis=-1), axis=-1)
