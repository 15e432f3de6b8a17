"""Evidence with every number given: what rules are asked with in these tests."""

from attribound.bounds import Ball, Closeness, Evidence, Law, Length, Normal, ProbabilityGradient, Spread
from attribound.bounds.budgets import Budget

ANY = 9
"""A dimension where none matters."""


def knowing(law: Law, limit, norm, eigenvalue, *, gradient=False, units=None) -> Evidence:
    """Norm (exact, so the same from above and below) and eigenvalue of a field with this limit."""
    stated = (ProbabilityGradient(),) if gradient else ()
    facts = (Length(lower=norm, sampled=norm), Spread(eigenvalue), Closeness(radius=0.0, attacked_alpha=1e-4))
    return Evidence.of(law, limit, *facts, *stated, budget=Budget(units))


def normal(norm, limit, eigenvalue, sigma=1.0) -> Evidence:
    return knowing(Normal(ANY, sigma), limit, norm, eigenvalue)


def ball(norm, limit, eigenvalue, radius=1.0) -> Evidence:
    return knowing(Ball(ANY, radius), limit, norm, eigenvalue)


def shift_of(moved) -> float:
    """The shift at which the ball of `ball` moves this fraction."""
    return float(Ball(ANY, 1.0).epsilon_at(moved))
