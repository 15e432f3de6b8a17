"""Slow reference of the scan: positions and directions one by one, from inequality (1) of docs/theory/scan.md."""

import math

import numpy as np


def cost(kappa):
    """C(kappa) as the integral of u / (1 - u kappa) over [0, 1], by the midpoint rule."""
    u = (np.arange(200_000) + 0.5) / 200_000
    return float((u / (1 - u * kappa)).mean())


def directions(reference, cosine, count=720):
    """All e = sin(theta) w - cos(theta) v; in two or three dimensions."""
    sine = math.sqrt(1 - cosine**2)
    if len(reference) == 2:
        across = np.array([[-reference[1], reference[0]], [reference[1], -reference[0]]])
    else:
        first = np.linalg.svd(reference[None])[2][1:]
        turn = np.linspace(0, 2 * np.pi, count, endpoint=False)
        across = np.cos(turn)[:, None] * first[0] + np.sin(turn)[:, None] * first[1]
    return sine * reference - cosine * across


def margin(*, rows, centres, every_centre, reference, kappa, cosine, alpha, half):
    """By how much (1) holds at one position.

    rows, centres: the draws in the window and the centre of each; every_centre: those that B must allow for.
    """
    worst = math.inf
    every = directions(reference, cosine)
    largest = max(float((every @ centre).max()) for centre in every_centre)
    least = 1 + max(largest, 0.0)
    speed = kappa / least
    for e in every:
        values = (np.array(rows) @ e).tolist()
        squares = [apart**2 for apart in ((np.array(rows) - np.array(centres)) @ e).tolist()]
        count = len(values)
        bound = math.fsum(values) / count - cost_at(kappa) * speed * math.fsum(squares) / count
        worst = min(worst, bound - math.log(1 / alpha) / (speed * count))
    return worst - 1 / (2 * half)


def cost_at(kappa, known={}):  # noqa: B006  remembered between calls on purpose
    """The same, remembered."""
    if kappa not in known:
        known[kappa] = cost(kappa)
    return known[kappa]


def wealth(hits, draws, threshold, bet):
    """The logarithm of the product of bets on a share, factor by factor."""
    return math.fsum([math.log(1 + bet * (1 - threshold))] * hits + [math.log(1 - bet * threshold)] * (draws - hits))


def true_reach(maps, reference, cosine, *, window, high, points=2001, inside=2001):
    """The smallest |t| up to `high` on each side at which the window mean has turned too far; inf if none."""
    ends = []
    for sign in (-1, 1):
        bad = math.inf
        for t in np.linspace(0, high, points):
            mean = maps(sign * t + window * (2 * (np.arange(inside) + 0.5) / inside - 1)).mean(axis=0)
            length = np.linalg.norm(mean)
            if length == 0 or mean @ reference / length < cosine:
                bad = t
                break
        ends.append(bad)
    return tuple(ends)
