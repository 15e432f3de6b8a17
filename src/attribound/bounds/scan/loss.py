"""What draws cost: the loss of the one event, and the bets that make it small."""

import math

import numpy as np

from attribound.checks import FloatArray


def curvature(kappa: FloatArray | float) -> FloatArray:
    """C(kappa): ln(1 + z) >= z - C z^2 for every z >= -kappa."""
    kappa = np.asarray(kappa, np.float64)
    cost: FloatArray = (-np.log1p(-kappa) - kappa) / kappa**2
    return cost


BETS = np.linspace(0.02, 0.98, 97)
"""All bets that a decision about maps may make."""

_BORDERS = np.diff(-1 / BETS) / np.diff(BETS * curvature(BETS))
"""At which rho two neighbouring bets are equally good."""


def best_bets(spread: FloatArray, *, least: FloatArray, draws: int, alpha: float) -> FloatArray:
    """The kappa in (0, 1) with the smallest expected loss, position by position.

    Args:
        spread: (J,) guessed second moments along the dangerous direction.
        least: (J,) B, how far below zero a draw may be.
        draws: draws in a window.
        alpha: failure probability of the event.
    """
    # The loss is kappa C(kappa) rho + 1 / kappa, up to a factor: what is best depends on rho alone, and falls with it.
    rho = spread * draws / (math.log(1 / alpha) * least**2)
    chosen: FloatArray = BETS[::-1][np.searchsorted(_BORDERS[::-1], rho)]
    return chosen


def best_share_bets(shares: FloatArray, floor: float) -> FloatArray:
    """Kelly's bets that a share is above `floor`, from guessed shares; always below 1 / floor."""
    bets: FloatArray = np.clip((shares - floor) / (floor * (1 - floor)), 0.02, 0.98 / floor)
    return bets
