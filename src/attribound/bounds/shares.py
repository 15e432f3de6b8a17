"""How alpha is shared: one table for all statistics, so that asking for more never changes what was asked before."""

from attribound import checks as check
from attribound.errors import ArgumentError

SHARES: dict[str, float] = {
    "norm": 1 / 8,
    "spread": 1 / 16,
    "moments": 2 / 5,
    "radius": 1 / 16,
    "error_bars": 1 / 32,
    "orders": 1 / 32,
    "votes": 1 / 8,
    "prediction": 1 / 16,
}
"""The part of alpha that each statistic spends, asked for or not; together nine tenths.

Chosen once, by measuring: half of alpha for the moments adds 0.7 % to epsilon over a quarter; shares of norm, spread
and radius between 1/16 and 1/2 change it by less than 0.1 %. `radius` is halved between the sampled map and one sampled
at an attacked input, `votes` likewise. The last tenth is a reserve for statements that come later or from outside.
"""


def claim(name: str, share: float) -> None:
    """Take a part of the reserve for a statistic of another package."""
    left = 1.0 - sum(SHARES.values())
    wanted = float(check.positive(f"the share of {name}", share))
    if name in SHARES:
        raise ArgumentError(f"there is a statistic called {name!r} already")
    if wanted > left * (1 + 1e-12):
        raise ArgumentError(f"expected a share of at most {left:.4g} for {name}, what is left of alpha, got {wanted:g}")
    SHARES[name] = wanted
