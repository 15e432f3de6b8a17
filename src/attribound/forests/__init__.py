"""Tree ensembles: exact answers about their scores and SHAP values. numpy only; one file imports treelite."""

from attribound.forests.forest import Forest
from attribound.forests.pairs import Pairs, pair_tolerance
from attribound.forests.shap import TreeShap
from attribound.forests.sheet import ColumnTolerance, Part, Sheet
from attribound.forests.tolerance import tolerance

__all__ = ["ColumnTolerance", "Forest", "Pairs", "Part", "Sheet", "TreeShap", "pair_tolerance", "tolerance"]
