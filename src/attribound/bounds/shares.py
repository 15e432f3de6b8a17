"""How alpha is shared: one table for all statistics, so that asking for more never changes what was asked before."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

SHARES: Final[Mapping[str, float]] = MappingProxyType(
    {
        "norm": 1 / 4,
        "spread": 1 / 8,
        "moments": 1 / 4,
        "radius": 1 / 8,
        "error_bars": 1 / 16,
        "votes": 1 / 8,
        "prediction": 1 / 16,
    }
)
"""The part of alpha that each statistic spends, asked for or not; together exactly 1.

`radius` is halved between the sampled map and one sampled at an attacked input, `votes` likewise.
"""
