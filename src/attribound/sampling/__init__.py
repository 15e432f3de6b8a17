"""From a field and noise to facts: the one loop and one file per statistic."""

from attribound.bounds.shares import SHARES
from attribound.fields.families import Around, Family
from attribound.sampling.draws import AtPoint
from attribound.sampling.estimate import Estimate, Plan, Progress, default_statistics, estimate
from attribound.sampling.questions import CosineAt, Question, TopK
from attribound.sampling.statistic import Draws, Facts, Setting, Statistic

__all__ = [
    "SHARES",
    "Around",
    "AtPoint",
    "CosineAt",
    "Draws",
    "Estimate",
    "Facts",
    "Family",
    "Plan",
    "Progress",
    "Question",
    "Setting",
    "Statistic",
    "TopK",
    "default_statistics",
    "estimate",
]
