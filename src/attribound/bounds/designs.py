"""Which loss the moment rule should use.

It is guessed from a pilot and decides how strong the rule is, never whether it holds.
"""

import math
from dataclasses import replace

import numpy as np

from attribound.bounds.moment import Band, Conjugate, Design, Moments, Values, loss_mean, moments_along, reach
from attribound.checks import FloatArray

_COARSE = 241
"""Nodes in y while a design is looked for."""

_ROUGH = 1e-6
"""How precisely the shift must be known at which designs are compared."""

_ROUNDS = 8
"""Most steps of the search at one factor."""

_SMALLEST = 1e-6
"""Designs are made for at least this second moment: a pilot may see no spread at all."""


def choose_design(guess: Moments, *, norm: float, alpha: float) -> Design:
    """The design that would reach furthest if `guess` (made on the pilot only) and `norm` (over the limit) were true.

    A pattern search from `guess.design`: at the shift reached so far, each parameter is moved by smaller and smaller
    factors while that costs less. What it finds is a matter of strength, never of validity. Guesses about several
    cosines at once (arrays) get a design each.
    """
    for factor in (2.0, 2.0, 1.4, 1.15):
        shift = np.maximum(reach(guess, norm, alpha, _COARSE, _ROUGH), 0.5)
        guess = replace(guess, design=_descend(guess, shift, alpha=alpha, factor=factor))
    return guess.design


def first_design(second: Values, draws: int) -> Design:
    """Where the search starts: good for projections that are about normal with this second moment."""
    deviation = np.sqrt(np.maximum(second, _SMALLEST))
    ceiling = np.full(np.shape(deviation), 90.0 * (draws / 8000) ** 0.8)
    return Design(0.2 / deviation, 0.1 / deviation**3, ceiling)


def _descend(guess: Moments, shift: FloatArray, *, alpha: float, factor: float) -> Design:
    """Move one parameter of the design at a time by `factor` while the rule's left side at `shift` falls."""
    second, fourth = (np.asarray(one)[..., None] for one in moments_along(guess))
    low, high = (np.asarray(one)[..., None] for one in Band.around(guess.cosine, guess.tilt).reach(guess.centre))
    moves = np.concatenate([np.ones((1, 3)), *(factor ** (sign * np.eye(3)) for sign in (1, -1))])
    best = np.stack(np.broadcast_arrays(guess.design.quadratic, guess.design.quartic, guess.design.ceiling), axis=-1)
    for _ in range(_ROUNDS):
        tried = best[..., None, :] * moves  # staying comes first, so it wins a draw
        design = Design(*np.moveaxis(tried, -1, 0))
        loss = loss_mean(design, second, fourth, draws=guess.draws, alpha=alpha)
        costs = loss + Conjugate(design, low, high, _COARSE).mean(shift[..., None])
        cheapest = costs.argmin(axis=-1)
        best = np.take_along_axis(tried, cheapest[..., None, None], axis=-2)[..., 0, :]
        if not cheapest.any():
            break
    return Design(*np.moveaxis(best, -1, 0))


def draws_for(shift: float, seen: Moments, *, norm: float, alpha: float, most: int = 1_000_000) -> int | None:
    """About how many draws would certify `shift`, if moments and norm (over the limit) stay; None: more than `most`.

    A forecast for people, with the loss chosen anew for each number of draws.
    """
    low, high = 0.0, math.log(most)

    def enough(level: float) -> bool:
        draws = round(math.exp(level))
        guess = replace(seen, draws=draws, design=first_design(moments_along(seen)[0], draws))
        design = choose_design(guess, norm=norm, alpha=alpha)
        return bool(reach(replace(guess, design=design), norm, alpha, _COARSE) >= shift)

    if not enough(high):
        return None
    while high - low > 0.02:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return round(math.exp(high))
