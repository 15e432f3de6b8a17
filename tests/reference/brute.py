"""Brute force: optimisers and enumerations that know the definitions and none of the closed forms."""

from itertools import combinations

import numpy as np
from scipy.optimize import minimize


def smallest_cosine(norm, moved, *, dim=3, starts=5, seed=0):
    """Minimise cos(h, R2 + R3), h = norm e_1 = R1 + R2, ||R1||, ||R3|| <= p, ||R2|| <= 1 - p (limit 1)."""
    rng = np.random.default_rng(seed)
    h = np.zeros(dim)
    h[0] = norm

    def cosine(v):
        after = h - v[:dim] + v[dim:]
        return after[0] / np.linalg.norm(after)

    constraints = [
        {"type": "ineq", "fun": lambda v: moved**2 - v[:dim] @ v[:dim]},
        {"type": "ineq", "fun": lambda v: moved**2 - v[dim:] @ v[dim:]},
        {"type": "ineq", "fun": lambda v: (1 - moved) ** 2 - (h - v[:dim]) @ (h - v[:dim])},
    ]
    best = 1.0
    for _ in range(starts):
        start = rng.normal(size=2 * dim) * moved / np.sqrt(dim)
        found = minimize(
            cosine, start, method="SLSQP", constraints=constraints, options={"maxiter": 100, "ftol": 1e-12}
        )
        if all(c["fun"](found.x) >= -1e-10 for c in constraints):
            best = min(best, float(found.fun))
    return best


def smallest_cosine_grid(norm, moved, *, fine=121):
    """The same minimum in the plane, by trying every R1 and R3 of a dense grid."""
    angle = np.linspace(-np.pi, np.pi, 2 * fine)
    length = np.linspace(0.0, moved, 41)
    leaving = (length[:, None] * np.exp(1j * angle)).ravel()
    staying = norm - leaving
    staying = staying[np.abs(staying) <= (1 - moved) * (1 + 1e-12)]
    after = staying[:, None] + moved * np.exp(1j * angle)[None, :]
    return float(np.min(after.real / np.abs(after)))


def overlap_after(values, moved_values, k):
    """How many of the k largest stay among the k largest, ties broken against us."""
    top = np.argsort(-values, kind="stable")[:k]
    cut = np.sort(moved_values)[::-1][k - 1]
    surely = np.sum(moved_values[top] > cut)
    tied_inside = np.sum(moved_values[top] == cut)
    tied_outside = np.sum(np.delete(moved_values, top) == cut)
    places = k - np.sum(moved_values > cut)
    return int(surely + max(places - tied_outside, 0) if tied_inside else surely)


def smallest_overlap(values, k, radius):
    """Enumerate every swap of j of the top k against j others; each costs a small convex problem in one level t."""
    order = np.argsort(-np.asarray(values, float), kind="stable")
    top, rest = order[:k], order[k:]
    worst = k
    for j in range(1, min(k, len(rest)) + 1):
        cost = min(
            swap_cost(values[list(out)], values[list(into)])[0]
            for out in combinations(top, j)
            for into in combinations(rest, j)
        )
        worst = k - j if cost <= radius**2 else worst
    return worst


def swap_cost(leaving, entering):
    """min over t of sum (leaving - t)_+^2 + sum (t - entering)_+^2 by ternary search: the cost and its t."""

    def cost(t):
        return float(np.sum(np.clip(leaving - t, 0, None) ** 2) + np.sum(np.clip(t - entering, 0, None) ** 2))

    low = float(min(leaving.min(), entering.min()))
    high = float(max(leaving.max(), entering.max()))
    for _ in range(60):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if cost(left) <= cost(right) else (left, high)
    return cost((low + high) / 2), (low + high) / 2
