"""Votes and proportions counted slowly: an independent copy of what the package counts and bounds."""

import math

import mpmath as mp
import numpy as np

DIGITS = 40


def upper_tail(count, samples, probability):
    """P(Bin(samples, probability) >= count)."""
    with mp.workdps(DIGITS):
        q = mp.mpf(probability)
        return mp.fsum(mp.binomial(samples, k) * q**k * (1 - q) ** (samples - k) for k in range(count, samples + 1))


def proportion_lower(count, samples, alpha):
    """Bisection on the tail: the probability at which `count` or more becomes as likely as alpha."""
    with mp.workdps(DIGITS):
        low, high = mp.mpf(0), mp.mpf(1)
        for _ in range(110):
            middle = (low + high) / 2
            low, high = (middle, high) if upper_tail(count, samples, middle) <= alpha else (low, middle)
        return low if count else mp.mpf(0)


def marks_by_comparing(values, number):
    """+1: among the `number` largest however ties are broken; -1: not among them however; 0: it depends."""
    marks = np.zeros(len(values), int)
    for i, value in enumerate(values):
        if sum(other >= value for other in values) <= number:
            marks[i] = 1
        if sum(other > value for other in values) >= number:
            marks[i] = -1
    return marks


def error_bars(chunks, limit, level, tuned, planned, boldest=0.95):
    """Half widths after the last chunk, one cell and one draw at a time; the first chunk is the pilot."""
    seen = [row for chunk in chunks for row in chunk]
    halves = []
    for cell in range(len(seen[0])):
        past = [row[cell] for row in chunks[0]]
        weight = weighted = variation = 0.0
        for chunk in chunks[1:]:
            centre = sum(past) / len(past)
            reach = limit + abs(centre)
            variance = max(sum((x - centre) ** 2 for x in past) / len(past) / reach**2, 1 / planned)
            step = math.sqrt(2 * tuned / (planned * variance))
            bet = min(step / (1 + step), boldest)
            for row in chunk:
                weight += bet / reach
                weighted += bet / reach * row[cell]
                variation += (-math.log(1 - bet) - bet) * ((row[cell] - centre) / reach) ** 2
            past += [row[cell] for row in chunk]
        mean = sum(past) / len(past)
        halves.append(abs(weighted / weight - mean) + (level + variation) / weight)
    return halves
