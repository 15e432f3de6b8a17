"""What the world may do to an input: one file per change, and how maps are brought back."""

from attribound.changes.base import Change, Continuous, Factor, Finite
from attribound.changes.blur import Blur
from attribound.changes.brightness import Brightness, Warmth
from attribound.changes.contrast import Contrast
from attribound.changes.explanations import Explanations
from attribound.changes.flip import Flip
from attribound.changes.gamma import Gamma
from attribound.changes.jpeg import Jpeg
from attribound.changes.registry import make_changes, names, parse_change, register_change
from attribound.changes.resize import ResizeMethod
from attribound.changes.rotation import Rotation
from attribound.changes.saturation import Saturation
from attribound.changes.shift import Shift
from attribound.changes.together import Together
from attribound.changes.words import HiddenWord
from attribound.changes.zoom import Zoom

__all__ = [
    "Blur", "Brightness", "Change", "Continuous", "Contrast", "Explanations", "Factor", "Finite", "Flip", "Gamma",
    "HiddenWord", "Jpeg", "ResizeMethod", "Rotation", "Saturation", "Shift", "Together", "Warmth", "Zoom",
    "make_changes", "names", "parse_change", "register_change",
]  # fmt: skip
