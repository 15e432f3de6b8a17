"""Attack tolerances: nothing inside a proved reach may turn the map further than claimed, or change the class.

Lists: alternatives are computed anew, each by itself. Scans: a search with draws of its own finds where the mean over a
window is worst; draws that the search has not seen then decide whether the claim is false there.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from attribound.changes.base import Continuous, Finite
from attribound.checks import FloatArray
from attribound.fields.bounded import Bounded
from attribound.sampling.along import Along
from attribound.sampling.listed import Tried, try_some
from attribound.threads import limited
from attribound.tolerances.again import asker_of
from attribound.tolerances.evidence import MARGIN
from attribound.tolerances.finding import ToleranceFinding
from attribound.tolerances.record import ToleranceRecord
from attribound.tolerances.windows import POSITIONS, WindowSearch
from attribound.tolerances.words import value_text


@final
@dataclass(frozen=True)
class Effort:
    """How hard is tried.

    Attributes:
        alternatives: of each list and claim at most so many, evenly spaced; None: all.
        draws: for the search of a scan.
        fresh: draws for each of the two means that decide about its worst window.
    """

    alternatives: int | None
    draws: int
    fresh: int


EFFORTS = {"quick": Effort(64, 512, 64), "normal": Effort(None, 2048, 256), "thorough": Effort(None, 8192, 1024)}
"""By budget."""


@final
@dataclass(frozen=True)
class Claim:
    """What a record says: in an interval of the change's unit the cosine is at least this, or the class stays."""

    about: Literal["cosine", "class"]
    claimed: float
    reach: tuple[float, float]


def claims_of(record: ToleranceRecord) -> list[Claim]:
    """Everything that a record claims; nothing where nothing is proved."""
    found = [Claim("cosine", float(key), reach) for key, reach in record.reaches.items() if reach is not None]
    if record.class_reach is not None:
        found.append(Claim("class", 1.0 if record.proof == "exact" else 0.5, record.class_reach))
    return found


@final
@dataclass(frozen=True)
class _Tried:
    """What was tried inside one reach: maps computed, the worst, where, and by how many errors the claim holds."""

    maps: int
    worst: float | None = None
    at: float | None = None
    words: str = ""
    errors: float | None = None


@final
@dataclass(frozen=True)
class ToleranceAttack:
    """Attacks one record after another.

    Attributes:
        effort: how hard is tried.
        seed: of the draws.
    """

    effort: Effort = EFFORTS["normal"]
    seed: int = 0

    @property
    def settings(self) -> dict[str, Any]:
        """How hard is tried, as findings keep it."""
        return asdict(self.effort)

    def __call__(self, record: ToleranceRecord, field: Bounded, x: Tensor) -> tuple[ToleranceFinding, ...]:
        """What became of each claim of a record.

        Args:
            record: what is claimed.
            field: the field that it is about.
            x: the input.
        """
        claims = claims_of(record)
        if not claims:
            return ()
        with limited(1):  # as the workers of a run: lists are about the maps computed so
            tries = self._tries(record, claims, field, x)
        return tuple(self._finding(record, claim, tried) for claim, tried in zip(claims, tries, strict=True))

    def _tries(self, record: ToleranceRecord, claims: Sequence[Claim], field: Bounded, x: Tensor) -> list[_Tried]:
        asker = asker_of(record, field)
        (name,) = asker.changes
        about = asker.look(x, record.target, seed=record.seed, item=record.item)
        plain = about.plain.flatten().double().numpy()
        if record.proof == "exact":
            return self._listed(record, claims, asker.along(name, about), plain)
        scan = replace(asker.scan(name, about), label=record.prediction)
        reference = plain if record.reference == "plain" else scan.shown(len(plain))
        return self._scanned(claims, WindowSearch(scan, reference, self.effort.draws, self.effort.fresh, self.seed))

    def _listed(
        self, record: ToleranceRecord, claims: Sequence[Claim], along: Along, plain: FloatArray
    ) -> list[_Tried]:
        """The worst of the alternatives inside each reach."""
        change = along.change
        assert isinstance(change, Finite)
        every = change.alternatives(along.x)
        values = np.array([change.shown(float(place)) for place in change.places(every)], np.float64)
        inside = [self._chosen(values, claim) for claim in claims]
        chosen = np.unique(np.concatenate(inside))
        if not len(chosen):
            return [_Tried(0)] * len(claims)
        tried = try_some(along, every[torch.from_numpy(chosen)], plain, record.prediction)
        return [
            _lowest(change, tried, claim, np.flatnonzero(np.isin(chosen, mine)))
            for claim, mine in zip(claims, inside, strict=True)
        ]

    def _chosen(self, values: FloatArray, claim: Claim) -> npt.NDArray[np.intp]:
        """Alternatives inside a reach, by number: all, or an evenly spaced choice with both ends."""
        low, high = claim.reach
        inside = np.flatnonzero((values >= low - MARGIN) & (values <= high + MARGIN))
        ordered = inside[values[inside].argsort(kind="stable")]
        most = self.effort.alternatives
        if most is None or len(ordered) <= most:
            return ordered
        return ordered[np.linspace(0, len(ordered) - 1, most).round().astype(np.intp)]

    def _scanned(self, claims: Sequence[Claim], search: WindowSearch) -> list[_Tried]:
        """The worst window inside each reach."""
        change = search.scan.change
        places = [_places(change, claim.reach) for claim in claims]
        means, found = search.look(np.concatenate(places)), []
        for number, (claim, mine) in enumerate(zip(claims, places, strict=True)):
            part = means.only(slice(number * POSITIONS, (number + 1) * POSITIONS))
            if claim.about == "cosine":
                worst = search.worst_cosine(mine, part, claim.claimed)
            else:
                worst = search.worst_share(mine, part)
            value = min(max(change.shown(worst.t), claim.reach[0]), claim.reach[1])
            words = f"{value_text(value, change.shown(0.0))} {change.unit}"
            found.append(_Tried(search.draws + 2 * search.fresh, worst.value, value, words, worst.errors))
        return found

    def _finding(self, record: ToleranceRecord, claim: Claim, tried: _Tried) -> ToleranceFinding:
        return ToleranceFinding(
            item=record.item,
            change=record.part,
            about=claim.about,
            claimed=claim.claimed,
            reach=claim.reach,
            unit=record.change.unit,
            proof=record.proof,
            tried=tried.maps,
            worst=tried.worst,
            at=tried.at,
            words=tried.words,
            errors=tried.errors,
            seed=self.seed,
            settings=self.settings,
        )


def _lowest(change: Finite, tried: Tried, claim: Claim, inside: npt.NDArray[np.intp]) -> _Tried:
    """The worst alternative for a claim, of those with these numbers."""
    if not len(inside):
        return _Tried(0)
    found = tried.cosines if claim.about == "cosine" else tried.kept.astype(np.float64)
    worst = int(inside[found[inside].argmin()])
    value = float(change.shown(float(tried.places[worst])))
    return _Tried(len(inside), float(found[worst]), value, change.label(tried.t[worst]))


def _places(change: Continuous, reach: tuple[float, float]) -> FloatArray:
    """Parameters from one end of a reach to the other, both included."""
    low, high = (min(max(change.inner(end), change.low), change.high) for end in reach)
    places: FloatArray = np.linspace(low, high, POSITIONS)
    return places
