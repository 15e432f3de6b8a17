"""Finite changes: the answer is read off the list of everything tried."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from torch import Tensor

from attribound.bounds.scan import Curve
from attribound.changes.base import Finite
from attribound.checks import FloatArray
from attribound.randomness import Purpose, stream
from attribound.sampling.along import Along
from attribound.sampling.listed import Tried, try_all
from attribound.tolerances.answer import Break, Interval, Tolerance

_MARGIN = 1e-6
"""Cosines this near to what was asked count as failed: they hang on rounding."""


def exact_tolerance(along: Along, *, plain: Tensor, label: int, cosines: Sequence[float]) -> Tolerance:
    """Try every alternative of a finite change.

    Args:
        along: the family of maps.
        plain: the plain map, in the field's shape.
        label: the class that is counted.
        cosines: what is asked.
    """
    change = along.change
    assert isinstance(change, Finite)
    flat = plain.flatten().double().numpy()
    tried = try_all(along, flat, label)
    held = {cosine: tried.cosines >= cosine + min(_MARGIN, (1 - cosine) / 2) for cosine in cosines}
    empty = not flat.any()
    return Tolerance(
        change=change,
        reaches={cosine: None if empty else _interval(change, tried.places, holds) for cosine, holds in held.items()},
        proof="exact",
        alpha=0.0,
        class_reach=_interval(change, tried.places, tried.kept),
        broken={cosine: _nearest(along, tried, holds, plain) for cosine, holds in held.items()},
        shown=plain,
        reference="plain",
        fidelity=1.0,
        draws=len(tried.places),
        window=None,
        window_share=0.0,
        angles=_curve(change, tried),
    )


def reach_of_places(places: FloatArray, holds: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """The last places on the left and on the right of 0 before the first that has an alternative that fails."""
    ends = []
    for sign in (-1, 1):
        mine = sign * places > 0
        failing = np.abs(places[mine & ~holds]).min(initial=np.inf)
        ends.append(sign * np.abs(places[mine & (np.abs(places) < failing)]).max(initial=0.0))
    return float(ends[0]) + 0.0, float(ends[1])


def _interval(change: Finite, places: FloatArray, holds: npt.NDArray[np.bool_]) -> Interval:
    left, right = reach_of_places(places, holds)
    if change.sizes:
        left = 0.0 - right
    return change.shown(left), change.shown(right)


def _nearest(along: Along, tried: Tried, holds: npt.NDArray[np.bool_], plain: Tensor) -> Break | None:
    """The nearest alternative that fails; of several at one place, the worst."""
    change = along.change
    assert isinstance(change, Finite)
    if holds.all():
        return None
    order = np.lexsort((tried.cosines, np.abs(tried.places), holds))
    worst = int(order[0])
    t = tried.t[worst : worst + 1]
    seen = along.look(t, stream(Purpose.BREAK, 0, device=along.x.device))
    return Break(
        value=change.shown(float(tried.places[worst])),
        label=change.label(t[0]),
        cosine=float(tried.cosines[worst]),
        input=along.inputs(t)[0],
        map=seen.maps[0].view(plain.shape),
    )


def _curve(change: Finite, tried: Tried) -> Curve:
    """At each place the largest angle: what is sampled is also what is proved."""
    places = np.unique(tried.places)
    lowest = np.array([tried.cosines[tried.places == place].min() for place in places])
    angles = np.degrees(np.arccos(lowest))
    return Curve(np.array([change.shown(float(place)) for place in places]), angles, angles)
