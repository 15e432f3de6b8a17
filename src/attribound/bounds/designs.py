"""Which loss the moment rule should use.

It is guessed from a pilot and decides how strong the rule is, never whether it holds.
"""

import math
from dataclasses import replace

from attribound.bounds.moment import Band, Conjugate, Design, Moments, loss_mean, moments_along, reach

_COARSE = 241
"""Nodes in y while a design is looked for."""

_ROUNDS = 8
"""Most steps of the search at one factor."""

_SMALLEST = 1e-6
"""Designs are made for at least this second moment: a pilot may see no spread at all."""


def choose_design(guess: Moments, *, norm: float, alpha: float) -> Design:
    """The design that would reach furthest if `guess` (made on the pilot only) and `norm` (over the limit) were true.

    A pattern search from `guess.design`: at the shift reached so far, each parameter is moved by smaller and smaller
    factors while that costs less. What it finds is a matter of strength, never of validity.
    """
    for factor in (2.0, 2.0, 1.4, 1.15):
        shift = max(reach(guess, norm, alpha, _COARSE), 0.5)
        guess = replace(guess, design=_descend(guess, shift, alpha=alpha, factor=factor))
    return guess.design


def first_design(second: float, draws: int) -> Design:
    """Where the search starts: good for projections that are about normal with this second moment."""
    deviation = math.sqrt(max(second, _SMALLEST))
    return Design(0.2 / deviation, 0.1 / deviation**3, 90.0 * (draws / 8000) ** 0.8)


def _descend(guess: Moments, shift: float, *, alpha: float, factor: float) -> Design:
    """Move one parameter of the design at a time by `factor` while the rule's left side at `shift` falls."""
    second, fourth = moments_along(guess)
    low, high = Band.around(guess.cosine, guess.tilt).reach(guess.centre)

    def cost(design: Design) -> float:
        loss = loss_mean(design, second, fourth, draws=guess.draws, alpha=alpha)
        return loss + Conjugate(design, low, high, _COARSE).mean(shift)

    best, least = guess.design, cost(guess.design)
    for _ in range(_ROUNDS):
        costs = {design: cost(design) for design in _neighbours(best, factor)}
        cheapest = min(costs, key=costs.__getitem__)
        if not costs[cheapest] < least:
            break
        best, least = cheapest, costs[cheapest]
    return best


def _neighbours(design: Design, factor: float) -> list[Design]:
    names = ("quadratic", "quartic", "ceiling")
    return [replace(design, **{name: getattr(design, name) * by}) for name in names for by in (factor, 1 / factor)]


def draws_for(shift: float, seen: Moments, *, norm: float, alpha: float, most: int = 1_000_000) -> int | None:
    """About how many draws would certify `shift`, if moments and norm (over the limit) stay; None: more than `most`.

    A forecast for people, with the loss chosen anew for each number of draws.
    """
    low, high = 0.0, math.log(most)

    def enough(level: float) -> bool:
        draws = round(math.exp(level))
        guess = replace(seen, draws=draws, design=first_design(moments_along(seen)[0], draws))
        design = choose_design(guess, norm=norm, alpha=alpha)
        return reach(replace(guess, design=design), norm, alpha, _COARSE) >= shift

    if not enough(high):
        return None
    while high - low > 0.02:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return round(math.exp(high))
