"""What a count of certificates says: about these inputs, and about those they were drawn from (docs/theory/gate.md)."""

import numpy as np
from scipy import special

from attribound import checks as check
from attribound.bounds.proportions import proportion_lower
from attribound.errors import ArgumentError

_ROUNDING = 1e-10
"""Relative amount by which tails are raised and bounds lowered."""


def false_most(inputs: int, alpha: float, level: float) -> int:
    """The most certificates of these inputs that are false, with probability at least 1 - level.

    Certificates of different inputs rest on independent draws and each is false with probability at most alpha, so
    the number of false ones is dominated by a binomial one.

    Args:
        inputs: how many inputs were tried, certified or not.
        alpha: failure probability of each certificate.
        level: failure probability of this statement.
    """
    tried = int(check.count("inputs", inputs))
    alpha, level = _alpha(alpha), float(check.alpha(level, "level"))
    most = np.arange(tried, dtype=np.float64)
    # P(Bin(n, alpha) > q) falls in q; at q = n it is 0.
    fine = special.betainc(most + 1, tried - most, alpha) * (1 + _ROUNDING) <= level
    return int(fine.argmax()) if fine.any() else tried


def share_lower(certified: int, inputs: int, alpha: float, level: float) -> float:
    """Lower bound on the share of a population that is truly robust, with probability at least 1 - level.

    The inputs are independent draws from the population. An input that is not robust is certified with probability at
    most alpha, so of the share p that is certified in the long run at least (p - alpha) / (1 - alpha) are robust; p
    is bounded by Clopper and Pearson's interval.

    Args:
        certified: how many of the inputs are certified.
        inputs: how many inputs were tried; those without a record are not certified.
        alpha: failure probability of each certificate.
        level: failure probability of this statement.
    """
    tried = int(check.count("inputs", inputs))
    alpha, level = _alpha(alpha), float(check.alpha(level, "level"))
    if not 0 <= certified <= tried:
        raise ArgumentError(f"expected `certified` in 0..{tried}, got {certified}")
    reached = float(proportion_lower(certified, tried, level))
    return max((reached - alpha) / (1 - alpha) * (1 - _ROUNDING), 0.0)


def _alpha(value: float) -> float:
    """A failure probability below 1; exact statements have none."""
    return 0.0 if value == 0 else float(check.alpha(value))
