"""Tree ensembles: exact answers about their scores and SHAP values. numpy only; one file imports treelite."""

from attribound.forests.forest import Forest
from attribound.forests.shap import TreeShap

__all__ = ["Forest", "TreeShap"]
