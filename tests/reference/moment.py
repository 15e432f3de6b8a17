"""Slow references of the moment rule: 40-digit quadrature of E f*, and directions one by one."""

import mpmath as mp
import numpy as np

DIGITS = 40


def loss(y, design):
    """f(y) = K (1 - exp(-(g2 y^2 + g4 y^4) / K))."""
    growth = mp.mpf(design.quadratic) * y**2 + mp.mpf(design.quartic) * y**4
    return mp.mpf(design.ceiling) * (1 - mp.exp(-growth / mp.mpf(design.ceiling)))


def conjugate_mean(shift, design, low, high, degree=4):
    """E max over y in [low, high] of (L - 1) y - f(y), L = exp(shift z - shift^2/2), at 40 digits.

    The best y jumps where the conjugate has a corner. Corners are located on a float grid of z and then bisected, and
    the quadrature runs between them and where y reaches an end of its range. A point that is missed could only cost
    digits of the quadrature.
    """
    with mp.workdps(DIGITS):
        mu = mp.mpf(shift)

        def slope(z):
            return mp.exp(mu * z - mu**2 / 2) - 1

        def integrand(z):
            s = slope(z)
            y = _best(s, design, low, high)
            return (s * y - loss(y, design)) * mp.npdf(z)

        knots = {*_corners(slope, design, low, high), *_ends(mu, design, low, high)}
        return mp.quad(integrand, sorted(knots), maxdegree=degree)


def _corners(slope, design, low, high):
    """Ends of the range, corners, and enough points in between."""
    z = np.linspace(-9.0, 12.0, 106)
    best = [float(_best(slope(mp.mpf(float(at))), design, low, high)) for at in z]
    knots = {mp.mpf(-14), mp.mpf(-9), mp.mpf(-4), mp.mpf(0), mp.mpf(3), mp.mpf(6), mp.mpf(10), mp.mpf(16)}
    for k in np.flatnonzero(np.abs(np.diff(best)) > 0.05):
        left, right = mp.mpf(float(z[k])), mp.mpf(float(z[k + 1]))
        start = best[k]
        for _ in range(60):
            middle = (left + right) / 2
            near = abs(float(_best(slope(middle), design, low, high)) - start) < 0.05
            left, right = (middle, right) if near else (left, middle)
        knots.add(left)
    return sorted(knots)


def _ends(mu, design, low, high):
    """Where s = f'(y) at an end of the range."""
    for y in (mp.mpf(low), mp.mpf(high)):
        slope = mp.diff(lambda at: loss(at, design), y)
        if slope > -1:
            yield (mp.log1p(slope) + mu**2 / 2) / mu


def _best(s, design, low, high):
    """The y that maximises s y - f(y): a float grid, then Newton's method at 40 digits inside the range."""
    grid = np.linspace(low, high, 401)
    growth = design.quadratic * grid**2 + design.quartic * grid**4
    values = float(s) * grid + design.ceiling * np.expm1(-growth / design.ceiling)
    y = mp.mpf(float(grid[int(np.argmax(values))]))
    k2, k4, top = mp.mpf(design.quadratic), mp.mpf(design.quartic), mp.mpf(design.ceiling)
    for _ in range(7):
        first, second = 2 * k2 * y + 4 * k4 * y**3, 2 * k2 + 12 * k4 * y**2
        decay = mp.exp(-(k2 * y**2 + k4 * y**4) / top)
        bend = (second - first**2 / top) * decay
        if bend <= 0:
            break
        y = min(max(y - (first * decay - s) / bend, mp.mpf(low)), mp.mpf(high))
    ends = [y, mp.mpf(low), mp.mpf(high)]
    return max(ends, key=lambda at: s * at - loss(at, design))


def directions(mean, cosine, count=720):
    """All e = sin(theta) h/|h| - cos(theta) u, u a unit vector across h, cos(theta) = cosine; 2 or 3 dimensions."""
    unit = mean / np.linalg.norm(mean)
    sine = np.sqrt(1 - cosine**2)
    if mean.size == 2:
        across = np.array([[-unit[1], unit[0]], [unit[1], -unit[0]]])
    else:
        first = np.linalg.svd(unit[None])[2][1:]
        turn = np.linspace(0, 2 * np.pi, count, endpoint=False)
        across = np.cos(turn)[:, None] * first[0] + np.sin(turn)[:, None] * first[1]
    return sine * unit - cosine * across


def moments(rows, along):
    """The largest mean square and mean fourth power of the rows along each of the directions."""
    values = rows @ along.T
    return (values**2).mean(axis=0).max(), (values**4).mean(axis=0).max()
