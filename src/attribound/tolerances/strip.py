"""Film strips: some changed inputs with their maps, small, for people to look at. They prove nothing. No torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np

from attribound.checks import FloatArray

FRAMES = 9
"""Frames of a strip, at most; no change is one of them."""

INPUT_SIDE, MAP_SIDE = 112, 56
"""Changed pictures and maps are shrunk to this many pixels."""

_INPUTS, _MAPS, _SAID = "strip", "strip-map", "strip-said"


@final
@dataclass(frozen=True)
class Strip:
    """Frames from the left end of a change's range to the right one.

    Attributes:
        values: (K,) where each frame lies, in the change's unit, never falling.
        classes: (K,) what the model says to the changed input.
        cosines: (K,) of the frame's map with the one it is compared with, as computed or sampled.
        inputs: (K, C, h, w) changed pictures in whole grey levels, small.
        maps: (K, h, w) the maps that the claim is about, in the frame of the unchanged picture, small.
    """

    values: FloatArray
    classes: FloatArray
    cosines: FloatArray
    inputs: FloatArray
    maps: FloatArray

    def kept(self, name: str) -> dict[str, FloatArray]:
        """What a run keeps of the strip of a change."""
        said = np.stack([self.values, self.classes, self.cosines], axis=1)
        return {f"{_INPUTS}:{name}": self.inputs, f"{_MAPS}:{name}": self.maps, f"{_SAID}:{name}": said}

    @classmethod
    def read(cls, pictures: Mapping[str, FloatArray], name: str) -> "Strip | None":
        """The strip among the pictures that a run kept of an input; None if there is none, or what is there is none."""
        inputs, maps, said = (pictures.get(f"{kind}:{name}") for kind in (_INPUTS, _MAPS, _SAID))
        if inputs is None or maps is None or said is None:
            return None
        count = len(said)
        fits = said.shape == (count, 3) and inputs.ndim == 4 and maps.ndim == 3 and 2 <= count <= FRAMES
        fits = fits and len(inputs) == len(maps) == count and inputs.shape[1] in (1, 3) and bool(inputs.size)
        if not (fits and maps.size and np.isfinite(said).all() and (np.diff(said[:, 0]) >= 0).all()):
            return None
        return cls(said[:, 0], said[:, 1], said[:, 2], inputs, maps)
