"""What a comparison keeps of each record of a run, until the record of the same input in the other run comes."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

import msgspec
import numpy as np

from attribound.bounds.drift import tilt_most
from attribound.bounds.facts import Closeness, Length
from attribound.certificates.record import Failure
from attribound.checks import FloatArray
from attribound.runs.proved import ProvedRecord, prove_all
from attribound.runs.store import Store
from attribound.runs.stored_maps import TINY, kept_maps, map_trouble, smoothed_map

_STORED = 2.0**-23
"""Maps are stored in float32: no value is off by more than half of this part of itself."""
_BROKEN = "is of a run with a certificate that an attack broke"


@final
@dataclass(frozen=True, slots=True)
class Side:
    """What is kept of a run's record: its partner may be the other run's last one.

    Attributes:
        item: with label, target, alpha, input and samples, as in the record.
        epsilons: the largest certified ones, 0.0 where nothing is certified.
        void: why it certifies nothing; empty if it counts.
        trouble: why nothing can be said about its map, whatever map that is; empty if something can.
        claim: what its author states about the limit.
        norm: of its sampled map.
        map_sha256: the map's hash.
        known: the radius around the sampled map that holds the exact one, and the exact one's least length.
    """

    item: int
    label: int | None
    target: int
    alpha: float
    input: str
    samples: int
    epsilons: tuple[float, ...]
    void: str
    trouble: str
    claim: str
    norm: float
    map_sha256: str | msgspec.UnsetType
    known: tuple[float, float]

    @classmethod
    def of(cls, one: ProvedRecord, cosines: Sequence[str]) -> "Side":
        """What is needed of a proved record."""
        record, void = one.record, _void(one)
        close = record.facts.get(Closeness.name)
        return cls(
            item=record.item,
            label=record.label,
            target=record.target,
            alpha=record.alpha,
            input=record.subject.input,
            samples=record.samples,
            epsilons=tuple(0.0 if void else record.max_epsilon.get(key, 0.0) for key in cosines),
            void=void,
            trouble=_trouble(one),
            claim=record.bound.claim,
            norm=record.norm,
            map_sha256=record.map_sha256,
            known=(float(close["radius"]) if close else math.inf, float(record.facts[Length.name]["lower"])),
        )

    def trouble_with(self, sampled: FloatArray | None) -> str:
        """Why nothing can be said about its map; empty if something can."""
        if self.trouble:
            return self.trouble
        if sampled is None:
            return "the run kept no map of this input (certify --pictures keeps more)"
        if trouble := map_trouble(sampled, self.norm, self.map_sha256):
            return trouble
        if tilt_most(_length(sampled), *self.around(sampled)) >= math.pi:
            return f"the map cannot be told from 0 after {self.samples:,} samples"
        return ""

    def around(self, sampled: FloatArray) -> tuple[float, float]:
        """How far the exact map is from the stored one at most, and how long it is at least."""
        radius, lower = self.known
        return radius * (1 + 1e-12) + _STORED * _length(sampled) + TINY, lower


@final
class Maps:
    """The sampled maps of a run."""

    def __init__(self, store: Store) -> None:
        self._store, self._kept = store, kept_maps(store)
        self.name = store.path.name

    def of(self, item: int) -> FloatArray | None:
        """The map of an input; None if the run did not keep it."""
        return smoothed_map(self._store, item) if item in self._kept else None


def checked(store: Store) -> Iterator[ProvedRecord | Failure]:
    """Proved records; in a run one of whose certificates an attack broke, all of them are doubtful."""
    broken = any(one.violated for one in store.findings().values())
    for one in prove_all(store):
        if broken and isinstance(one, ProvedRecord):
            yield ProvedRecord(one.record, (*one.doubts, _BROKEN))
        else:
            yield one


def _void(one: ProvedRecord) -> str:
    """Why a record certifies nothing; empty if it counts."""
    if _BROKEN in one.doubts:
        return "an attack broke a certificate of this run"
    if one.record.bound.kind == "assumed":
        return "the limit is ASSUMED"
    return "the record is doubtful" if one.doubts else ""


def _trouble(one: ProvedRecord) -> str:
    """Why nothing can be said about any map of a record; empty if something can."""
    if one.doubts:
        return f"the record {'; '.join(one.doubts)}"
    if Closeness.name not in one.record.facts:
        return "the record does not say how close its map is to the exact one"
    if one.record.bound.kind == "assumed":
        return "the limit is ASSUMED, so nothing is proved about the map"
    return ""


def _length(values: FloatArray) -> float:
    return float(np.linalg.norm(values))
