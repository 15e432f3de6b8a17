"""From a field and noise to facts: the one loop and one file per statistic."""

from attribound.fields.families import Around, Family
from attribound.sampling.draws import AtPoint
from attribound.sampling.plan import Estimate, Plan
from attribound.sampling.questions import CosineAt, Question, TopK
from attribound.sampling.statistic import Draws, Facts, Setting, Statistic

__all__ = [
    "Around",
    "AtPoint",
    "CosineAt",
    "Draws",
    "Estimate",
    "Facts",
    "Family",
    "Plan",
    "Question",
    "Setting",
    "Statistic",
    "TopK",
]
