"""What the two colours of a map mean: that follows from the method and from what was done to its map."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import final

RECTIFIED = ("gradcam", "hirescam", "layercam", "gradcam++")
"""Methods whose maps hold only what speaks for the class, unless they are called NAME-signed."""
_UNSIGNED = ("abs", "pooled", "tokens", "grouped-abs")
"""Shapes of maps that drop the signs."""


@final
@dataclass(frozen=True)
class Legend:
    """The words for the colours of a map.

    Attributes:
        low: what is blue, or points to the left.
        high: what is red, or points to the right.
        sentence: both, for a caption.
    """

    low: str
    high: str
    sentence: str


_CLASS = Legend(
    "against the class", "for the class", "Red speaks for the explained class, blue against it, white is zero."
)
_MEAN = Legend(
    "below the map's mean",
    "above the map's mean",
    "Red is above the map's mean, blue below it, white is the mean.",
)
_OTHERS = Legend(
    "less than in other inputs",
    "more than in other inputs",
    "Red is above the mean map of other inputs, blue below it, white equal to it.",
)
_FOR = Legend(
    "unused (no value is negative)",
    "for the class",
    "The redder, the more it speaks for the explained class; no value is negative, white is zero.",
)
_EITHER = Legend(
    "unused (no value is negative)",
    "for or against the class",
    "The redder, the more it matters, for or against the explained class; no value is negative, white is zero.",
)


_LEVELS = {"centred": _MEAN, "relative": _OTHERS}
"""Shapes that subtract something."""


def legend_of(attribution: str, maps: Sequence[str]) -> Legend:
    """The words for the maps of a run or a record.

    Args:
        attribution: the method, as records name it.
        maps: what was done to its map, in order.
    """
    return reduce(_after, maps, _FOR if attribution.partition(":")[0] in RECTIFIED else _CLASS)


def _after(before: Legend, shape: str) -> Legend:
    """The words once a map has one more shape."""
    name = shape.partition(":")[0]
    if name in _LEVELS:
        return _LEVELS[name]
    return _EITHER if name in _UNSIGNED and before is not _FOR else before
