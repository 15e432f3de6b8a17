"""All rules, one file each. The best of those that apply is taken: all hold at once, under one shared alpha."""

from attribound.bounds.rules.base import Rule
from attribound.bounds.rules.covariance import Covariance
from attribound.bounds.rules.curvature import Curvature
from attribound.bounds.rules.moment import Moment
from attribound.bounds.rules.tight import Tight

RULES: list[Rule] = [
    Tight(),
    Covariance(),
    Curvature(),
    Moment(),
]
"""Every rule; a new one adds a file and a line here, or `register_rule` from outside (docs/extend/rule.md)."""

__all__ = ["RULES", "Rule"]
