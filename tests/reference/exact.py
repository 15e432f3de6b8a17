"""40-digit references (mpmath): the moved fraction by quadrature, the tight theorem by its geometry."""

import json
from pathlib import Path

import mpmath as mp

VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_text())
"""Reference values of the theory note, made independently of this code."""

DIGITS = 40


def name(row):
    """A short label of one row of the vectors."""
    return f"d{row['dim']}-c{row['norm']}"


def ball_moved(epsilon, dim, radius):
    """Total variation of two balls, centres epsilon apart: int_0^t cos^d / int_0^(pi/2) cos^d, sin t = epsilon / 2r.

    The overlap is two caps; slicing them by angle gives this integral, which is I_y(1/2, (d+1)/2) with y = sin^2 t.
    """
    with mp.workdps(DIGITS):
        ratio = mp.mpf(epsilon) / (2 * mp.mpf(radius))
        return mp.mpf(1) if ratio >= 1 else _cosine_power(mp.asin(ratio), dim) / _whole(dim)


def ball_shift(moved, dim, radius, start):
    """The shift that moves `moved`: Newton from a float guess, at 40 digits (two steps square the error twice)."""
    with mp.workdps(DIGITS):
        angle = mp.asin(mp.mpf(start) / (2 * mp.mpf(radius)))
        for _ in range(2):
            angle -= (_cosine_power(angle, dim) - mp.mpf(moved) * _whole(dim)) / mp.cos(angle) ** dim
        return 2 * mp.mpf(radius) * mp.sin(angle)


def _cosine_power(angle, dim):
    width = 1 / mp.sqrt(dim)
    knots = [k * width for k in (0, 2, 4, 8, 16) if k * width < angle] + [angle]
    return mp.quad(lambda t: mp.cos(t) ** dim, knots, method="gauss-legendre")


def _whole(dim):
    """Wallis: int_0^(pi/2) cos^d."""
    half = mp.mpf(dim) / 2
    return mp.sqrt(mp.pi) / 2 * mp.exp(mp.loggamma(half + mp.mpf(1) / 2) - mp.loggamma(half + 1))


def gaussian_moved(epsilon, sigma):
    """P(-e/2 < z < e/2) for a standard normal z, e = epsilon / sigma: where one density exceeds the other."""
    with mp.workdps(DIGITS):
        half = mp.mpf(epsilon) / mp.mpf(sigma) / 2
        return mp.quad(mp.npdf, mp.linspace(-half, half, 9))


def gaussian_shift(moved, sigma):
    with mp.workdps(DIGITS):
        return 2 * mp.sqrt(2) * mp.mpf(sigma) * mp.erfinv(mp.mpf(moved))


def cosine(norm, moved):
    """Largest angle over what stays (length rho), limit 1: arccos((rho^2+c^2-p^2)/(2 rho c)) + arcsin(p/rho).

    It grows until rho^2 = c^2 - 3p^2; rho cannot exceed 1 - p.
    """
    with mp.workdps(DIGITS):
        c, p = mp.mpf(norm), mp.mpf(moved)
        if c <= 2 * p:
            return mp.mpf(-1)
        if p == 0:
            return mp.mpf(1)
        rho = min(1 - p, mp.sqrt(c**2 - 3 * p**2))
        inner = min((rho**2 + c**2 - p**2) / (2 * rho * c), mp.mpf(1))
        return mp.cos(mp.acos(inner) + mp.asin(p / rho))


def largest_moved(norm, threshold):
    """Bisection on `cosine`: the largest p with cosine(norm, p) >= threshold."""
    with mp.workdps(DIGITS):
        low, high = mp.mpf(0), mp.mpf(norm) / 2
        for _ in range(120):
            middle = (low + high) / 2
            low, high = (middle, high) if cosine(norm, middle) >= mp.mpf(threshold) else (low, middle)
        return low


def truncation(shift, level):
    """tau = 1 - E[W] and Var(W), W = min(L, L(level)), L = exp(shift z - shift^2/2): plain quadrature over z."""
    with mp.workdps(DIGITS):
        s, a = mp.mpf(shift), mp.mpf(level)

        def ratio(z):
            return mp.exp(s * z - s**2 / 2)

        def expect(f):
            knots = sorted({mp.mpf(-14), mp.mpf(-7), *(a + k for k in (-6, -3, -1, 0)), mp.mpf(0), s, 2 * s})
            knots = [k for k in knots if -14 <= k <= a]
            return mp.quad(lambda z: f(ratio(z)) * mp.npdf(z), [min(a, -14) - 14, *knots])

        above = mp.ncdf(-a)
        mean = expect(lambda w: w) + ratio(a) * above
        variance = expect(lambda w: (w - mean) ** 2) + (ratio(a) - mean) ** 2 * above
        return 1 - mean, variance


def relative_error(value, reference):
    return float(abs(mp.mpf(value) - reference) / abs(reference))
