"""Counts of certificates judged slowly: binomial tails added up in 40 digits."""

import mpmath as mp

from tests.reference.counts import DIGITS, proportion_lower, upper_tail


def false_most(inputs, alpha, level):
    """The smallest number that is exceeded with probability at most `level`, tried one by one."""
    most = 0
    while upper_tail(most + 1, inputs, alpha) > level:
        most += 1
    return most


def share_lower(certified, inputs, alpha, level):
    """What is certified in the long run, less what is certified by mistake."""
    with mp.workdps(DIGITS):
        share = (proportion_lower(certified, inputs, level) - mp.mpf(alpha)) / (1 - mp.mpf(alpha))
        return max(share, mp.mpf(0))
