"""A naive copy of the bound on the mean of a difference after a shift: loops, 40 digits, no vectors."""

import mpmath


def binomial_tail(count: int, draws: int, p) -> mpmath.mpf:
    """P(at least `count` of `draws`)."""
    return mpmath.betainc(count, draws - count + 1, 0, p, regularized=True) if count else mpmath.mpf(1)


def proportion(count: int, draws: int, level: float) -> mpmath.mpf:
    """Clopper and Pearson's lower bound, by bisection."""
    if count == 0:
        return mpmath.mpf(0)
    low, high = mpmath.mpf(0), mpmath.mpf(count) / draws
    for _ in range(120):
        middle = (low + high) / 2
        low, high = (middle, high) if binomial_tail(count, draws, middle) <= level else (low, middle)
    return low


def normal_quantile(p) -> mpmath.mpf:
    return mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1)


def mean_after_shift(values, thresholds, *, least: float, level: float, shift: float) -> mpmath.mpf:
    """The lower bound on the mean, for normal noise and a shift counted in standard deviations."""
    mean, before = mpmath.mpf(-least), mpmath.mpf(-least)
    for threshold in thresholds:
        q = proportion(int(sum(value >= threshold for value in values)), len(values), level)
        kept = mpmath.ncdf(normal_quantile(q) - shift) if q > 0 else mpmath.mpf(0)
        mean += (mpmath.mpf(threshold) - before) * kept
        before = mpmath.mpf(threshold)
    return mean
