"""Every alternative of a finite change: nothing is drawn, everything is tried."""

from dataclasses import dataclass, replace
from typing import final

import numpy as np
import numpy.typing as npt
from torch import Tensor

from attribound.bounds.scan.directions import unit
from attribound.changes.base import Finite
from attribound.checks import FloatArray
from attribound.errors import ArgumentError, FieldError
from attribound.randomness import Purpose, stream
from attribound.sampling.along import Along
from attribound.sampling.witness import Witness

_CHUNK = 256


@final
@dataclass(frozen=True)
class Tried:
    """What every alternative does.

    Attributes:
        t: (N, ...) the alternatives' parameters.
        places: (N,) where they lie, the input itself at 0.
        cosines: (N,) cosines of their maps with the plain one; -1 where a map is zero.
        kept: (N,) whether the model gives the class asked for.
    """

    t: Tensor
    places: FloatArray
    cosines: FloatArray
    kept: npt.NDArray[np.bool_]


def try_all(along: Along, plain: FloatArray, label: int) -> Tried:
    """Look at every alternative by itself, as the plain map was made: kernels differ with the number of rows.

    Args:
        along: the family of maps of a finite change.
        plain: (m,) the plain map.
        label: the class that is counted.
    """
    change = along.change
    if not isinstance(change, Finite):
        raise ArgumentError(f"{change.name} has a range: it has no list of alternatives")
    return try_some(along, change.alternatives(along.x), plain, label)


def try_some(along: Along, t: Tensor, plain: FloatArray, label: int) -> Tried:
    """The same for the alternatives of these parameters only."""
    along, change = replace(along, batch=1), along.change
    assert isinstance(change, Finite)
    if along.field.random or along.field.block > 1:
        raise FieldError(
            f"{along.field.name} draws random numbers of its own, so trying every alternative of {change.name} proves "
            "nothing: take a method without randomness"
        )
    cosines, kept, witness = [], [], Witness(0)
    for part in t.split(_CHUNK):
        seen = along.look(part, stream(Purpose.SCAN, 0, device=along.x.device), witness)
        if seen.maps.shape[1] != len(plain):
            raise FieldError(f"expected maps of {len(plain)} numbers, as the plain one, got {seen.maps.shape[1]}")
        cosines.append(cosines_with(seen.maps.numpy(), plain))
        kept.append((seen.classes == label).numpy())
    witness.check()
    places = change.places(t).double().numpy()
    if (places == 0).any() or not np.isfinite(places).all():
        raise ArgumentError(f"expected every alternative of {change.name} at a finite place other than 0, got {places}")
    return Tried(t, places, np.concatenate(cosines), np.concatenate(kept))


def cosines_with(maps: FloatArray, plain: FloatArray) -> FloatArray:
    """(N,) cosines of maps (N, m) with one map; -1 where one of the two is zero."""
    cosines: FloatArray = np.where(maps.any(axis=1) & plain.any(), unit(maps) @ unit(plain), -1.0)
    return np.clip(cosines, -1.0, 1.0)
