"""How likely an event is, from counting it: exact for the binomial law, rounded outwards (docs/theory/cells.md)."""

import numpy as np
from scipy import special

from attribound import checks as check
from attribound.checks import FloatArray, Number
from attribound.errors import ArgumentError

_ROUNDING = 1e-10
"""Relative amount by which the inverse of the binomial tail is lowered before it is checked."""


def proportion_lower(count: Number, samples: Number, alpha: Number) -> FloatArray:
    """Lower bound on an event's probability from the number of draws that showed it (Clopper & Pearson 1934).

    With probability at least 1 - alpha the returned value is at most the true probability.

    Args:
        count: how many of the draws showed the event; arrays broadcast.
        samples: number of independent draws, fixed beforehand.
        alpha: failure probability.

    Returns:
        The bound, in [0, 1).
    """
    counted, drawn = np.broadcast_arrays(check.non_negative("count", count), check.count("samples", samples))
    level = check.alpha(alpha)
    if (counted > drawn).any() or (counted != np.floor(counted)).any():
        raise ArgumentError(f"expected `count` in 0..samples, got {float(counted.flat[np.argmax(counted)]):g}")
    seen = np.maximum(counted, 1.0)
    lower = special.betaincinv(seen, drawn - seen + 1, level) * (1 - _ROUNDING)
    # P(at least `count` of the draws) grows with the probability: where it is still below alpha, so is the bound.
    proved = special.betainc(seen, drawn - seen + 1, lower) <= level
    return np.where((counted >= 1) & proved, lower, 0.0)


def majority_needed(samples: Number, alpha: Number) -> FloatArray:
    """The probability from which on more than half of the draws show an event, except with probability alpha.

    Args:
        samples: number of independent draws.
        alpha: failure probability.

    Returns:
        A probability in (1/2, 1], rounded up.
    """
    drawn = check.count("samples", samples)
    # The majority misleads if at least half of the draws show the opposite.
    return 1.0 - proportion_lower(np.ceil(drawn / 2), drawn, alpha)
