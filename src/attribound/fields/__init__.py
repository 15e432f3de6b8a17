"""Attribution methods, the shapes of their maps, and the wrappers that bound them."""

from attribound.fields.base import Explanation, Field, Target
from attribound.fields.bounded import Assumed, Bounded, Clip, Proved, Unit
from attribound.fields.cam import CAM, GradCAM, GradCAMPlusPlus, HiResCAM, LayerCAM
from attribound.fields.function import Function
from attribound.fields.integrated import IntegratedGradients
from attribound.fields.relative import Relative, mean_unit_map
from attribound.fields.reshaped import Absolute, Centred, Grouped, Pooled, Scaled, Tokens
from attribound.fields.saliency import Saliency
from attribound.fields.shap import Shap
from attribound.fields.specs import (
    ATTRIBUTIONS,
    BOUNDS,
    MAPS,
    default_maps,
    make_field,
    names_code,
    register_field,
    register_map,
)

__all__ = [
    "ATTRIBUTIONS", "BOUNDS", "CAM", "MAPS", "Absolute", "Assumed", "Bounded", "Centred", "Clip", "Explanation",
    "Field", "Function", "GradCAM", "GradCAMPlusPlus", "Grouped", "HiResCAM", "IntegratedGradients", "LayerCAM",
    "Pooled", "Proved", "Relative", "Saliency", "Scaled", "Shap", "Target", "Tokens", "Unit", "default_maps",
    "make_field", "mean_unit_map", "names_code", "register_field", "register_map",
]  # fmt: skip
