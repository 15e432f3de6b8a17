"""From a field and noise to facts: the one loop and one file per statistic."""

from attribound.sampling.draws import Source
from attribound.sampling.estimate import Estimate, Plan, Progress, Question, default_statistics, estimate
from attribound.sampling.statistic import Draws, Facts, Setting, Statistic

__all__ = [
    "Draws",
    "Estimate",
    "Facts",
    "Plan",
    "Progress",
    "Question",
    "Setting",
    "Source",
    "Statistic",
    "default_statistics",
    "estimate",
]
