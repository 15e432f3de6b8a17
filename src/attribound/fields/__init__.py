"""Attribution methods and the wrappers that bound them."""

from attribound.fields.base import Field
from attribound.fields.bounded import Assumed, Bounded, Clip, Proved, Unit
from attribound.fields.captum import Captum
from attribound.fields.integrated import IntegratedGradients
from attribound.fields.saliency import Saliency
from attribound.fields.specs import ATTRIBUTIONS, make_field

__all__ = [
    "ATTRIBUTIONS",
    "Assumed",
    "Bounded",
    "Captum",
    "Clip",
    "Field",
    "IntegratedGradients",
    "Proved",
    "Saliency",
    "Unit",
    "make_field",
]
