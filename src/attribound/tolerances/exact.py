"""Finite changes: the answer is read off the list of everything tried."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from torch import Tensor

from attribound.bounds.scan import Curve
from attribound.changes.base import Finite
from attribound.randomness import Purpose, stream
from attribound.sampling.along import Along
from attribound.sampling.listed import Tried, try_all
from attribound.tolerances.answer import Answer, Break
from attribound.tolerances.evidence import Listed


def exact_answer(along: Along, *, plain: Tensor, label: int, cosines: Sequence[float]) -> Answer:
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
    known = Listed(
        places=tried.places,
        values=np.array([change.shown(float(place)) for place in tried.places], np.float64),
        zero=float(change.shown(0.0)),
        cosines=tried.cosines,
        kept=tried.kept,
        sizes=change.sizes,
        empty=not flat.any(),
    )
    return Answer(
        evidence=known,
        proof="exact",
        alpha=0.0,
        broken={cosine: _nearest(along, tried, known.holds(cosine), plain) for cosine in cosines},
        shown=plain,
        reference="plain",
        fidelity=1.0,
        draws=len(tried.places),
        window=None,
        window_share=0.0,
        angles=_curve(change, tried),
        bounds=(known.tried[0], known.tried[2]),
    )


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
