"""How close the sampled map is to the exact one."""

from typing import final

from attribound.bounds import confidence
from attribound.bounds.facts import Closeness, Length, Spread
from attribound.bounds.shares import SHARES
from attribound.sampling.statistic import Draws, Facts, Setting, Statistic


@final
class MapRadius(Statistic):
    """A ball around the sampled map that holds the exact one; the other half of alpha is kept for attacked maps."""

    fact = Closeness

    def __init__(self, share: float = SHARES["radius"]) -> None:
        self.share = share

    def start(self, pilot: Draws, setting: Setting) -> None:
        """Only the number of draws counts."""
        self._setting, self._count = setting, len(pilot.on_device)

    def add(self, draws: Draws) -> None:
        """Count."""
        self._count += len(draws.on_device)

    def prove(self, alpha: float, known: Facts) -> Closeness:
        """McDiarmid's or Bousquet's inequality, whichever is smaller."""
        length, spread = known[Length], known[Spread]
        assert isinstance(length, Length)
        assert isinstance(spread, Spread)
        radius = confidence.mean_radius(
            limit=self._setting.limit,
            norm_lower=float(length.lower),
            samples=self._count,
            alpha=alpha / 2,
            # The map is a mean of blocks, whose own covariance is what counts here.
            eigenvalue_upper=float(spread.eigenvalue) / self._setting.block,
        )
        return Closeness(radius=radius, attacked_alpha=alpha / 2)
