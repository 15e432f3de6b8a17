"""The betting bound as a gambler would play it: one draw, one bet, one candidate mean at a time."""

import math


def rejected(projections, mean, limit, alpha, horizon):
    """Whether the capital against "the mean is at most `mean`" ever reaches 1 / alpha."""
    capital, total, squares = 1.0, 0.5, 0.25
    variance = 0.25
    for t, x in enumerate(projections, start=1):
        y = (x + limit) / (2 * limit)
        bet = min(math.sqrt(2 * math.log(1 / alpha) / (horizon * variance)), 0.95 / mean)
        capital *= 1 + bet * (y - mean)
        if capital >= 1 / alpha:
            return True
        total += y
        squares += (y - total / (t + 1)) ** 2
        variance = squares / (t + 1)
    return False


def norm_lower_bound(projections, limit, alpha, horizon):
    """The largest rejected candidate, as a norm; 0 if even the mean 1/2 (norm 0) is not rejected."""
    low, high = 0.5, 1.0
    if not rejected(projections, low, limit, alpha, horizon):
        return 0.0
    for _ in range(45):
        middle = (low + high) / 2
        low, high = (middle, high) if rejected(projections, middle, limit, alpha, horizon) else (low, middle)
    return limit * (2 * low - 1)
