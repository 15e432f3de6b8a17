"""The moments' statistic by itself: rows in, one `Moments` per cosine out, for a map and a radius that are given."""

from attribound.bounds import Closeness, Length, Normal
from attribound.sampling import Draws, Setting
from attribound.sampling.moments import FourthMoments


class MomentStatistic:
    def __init__(self, cosines, *, limit, planned, alpha, law=None, block=1) -> None:
        self.alpha, self._limit, self._planned = alpha, limit, planned
        self._law, self._block = law or Normal(2, 1.0), block
        self.inner = FourthMoments(share=1.0, cosines=cosines)

    def start(self, pilot) -> None:
        planned = self._planned + len(pilot)
        setting = Setting(pilot.shape[1], self._limit, planned, self._law, self._block, self.alpha)
        self.inner.start(Draws(pilot), setting)

    def add(self, rows) -> None:
        self.inner.add(Draws(rows))

    @property
    def draws(self) -> int:
        return self.inner._sums.count

    @property
    def _waiting(self):
        return getattr(self.inner._sums, "_waiting", [])

    def prove(self, mean, radius):
        kept = self.inner._sum, self.inner._count
        self.inner._sum, self.inner._count = mean / self._limit, 1
        known = {Closeness: Closeness(radius, self.alpha), Length: Length(0.5 * self._limit, 0.5 * self._limit)}
        found = self.inner.prove(self.alpha, known)
        self.inner._sum, self.inner._count = kept
        return () if found is None else tuple(found.each())

    def hope(self, mean):
        found = self.inner.hope(self.alpha, {Length: Length(0.5 * self._limit, 0.5 * self._limit)})
        return () if found is None else tuple(found.each())
