"""Two runs over the same inputs: how far did each explanation move, proved from both records."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, final

import numpy as np

from attribound import checks as check
from attribound.bounds.drift import cosine_interval, tilt_most
from attribound.bounds.facts import Closeness
from attribound.certificates.certificate import Certificate
from attribound.certificates.record import Failure, Record, shown_claims
from attribound.checks import FloatArray
from attribound.errors import StoredDataError
from attribound.rounding import exact_text, lower_quantile, round_down, round_up
from attribound.runs.config import RunConfig
from attribound.runs.proved import ProvedRecord, prove_all
from attribound.runs.store import Store
from attribound.runs.stored_maps import TINY, map_trouble, smoothed_map

Drift = Literal["unchanged", "changed", "undecided", "unknown"]
VERDICTS: tuple[Drift, ...] = ("changed", "undecided", "unknown", "unchanged")
"""What changed comes first, because readers look for it."""
_STORED = 2.0**-23
"""Maps are stored in float32: no value is off by more than half of this part of itself."""
_BROKEN = "is of a run with a certificate that an attack broke"


@final
@dataclass(frozen=True)
class Pair:
    """One input of both runs.

    Attributes:
        items: its number in each run.
        label: its class, if it has one.
        targets: the class that each run explains.
        interval: proved bounds on the cosine of the two exact smoothed maps; None if there are none.
        verdict: against the cosine asked for.
        reason: why there is no interval.
        alpha: the interval is false with probability at most this.
        epsilons: by cosine, the largest epsilon that each run certifies; 0.0 where its record certifies nothing.
        void: why each run's record certifies nothing, whatever it states; empty if it counts.
        input: what people call the input; empty if it has no name.
    """

    items: tuple[int, int]
    label: int | None
    targets: tuple[int, int]
    interval: tuple[float, float] | None
    verdict: Drift
    reason: str
    alpha: float
    epsilons: dict[str, tuple[float, float]]
    void: tuple[str, str]
    input: str = ""

    @property
    def number(self) -> str:
        """The input's number, or its two, and its name if it has one."""
        first, second = self.items
        numbers = str(first) if first == second else f"{first} / {second}"
        return f"{numbers} ({self.input})" if self.input else numbers

    @property
    def shown(self) -> str:
        """The interval, rounded outwards."""
        return "-" if self.interval is None else f"{round_down(self.interval[0], 3)} to {round_up(self.interval[1], 3)}"

    def row(self) -> dict[str, Any]:
        """Plain JSON values."""
        return dict(vars(self))


@final
@dataclass(frozen=True)
class Comparison:
    """Two runs, input by input.

    Attributes:
        names: the runs.
        configs: what was run.
        cosine: unchanged if the cosine is provably at least this, changed if it is provably below.
        pairs: inputs that both runs have a record of.
        only: how many records each run has that the other has not; failures count here.
        classes: names of the classes.
        claims: what authors state about limits that they say they proved.
    """

    names: tuple[str, str]
    configs: tuple[RunConfig, RunConfig]
    cosine: float
    pairs: Sequence[Pair]
    only: tuple[int, int]
    classes: list[str]
    claims: Sequence[str] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Pairs by verdict."""
        counts = Counter(pair.verdict for pair in self.pairs)
        return {verdict: counts[verdict] for verdict in ("unchanged", "changed", "undecided", "unknown")}

    @property
    def differences(self) -> str:
        """What the runs do differently, from the first to the second."""
        return self.configs[0].difference(self.configs[1]) or "nothing that their configurations name"

    @property
    def medians(self) -> dict[str, tuple[float, float]]:
        """By cosine, the median over pairs of the largest certified epsilon in each run."""
        keys = self.pairs[0].epsilons if self.pairs else ()
        return {
            key: tuple(lower_quantile([pair.epsilons[key][side] for pair in self.pairs], 0.5) for side in (0, 1))  # type: ignore[misc]
            for key in keys
        }

    @property
    def sentences(self) -> list[str]:
        """What was found, in words."""
        counts, total = self.counts, len(self.pairs)
        threshold = exact_text(self.cosine)
        found = [
            f"{total} {'input is' if total == 1 else 'inputs are'} in both runs. Explanations unchanged: "
            f"{counts['unchanged']} (cosine of the two exact smoothed maps provably at least {threshold}); changed: "
            f"{counts['changed']} (provably below {threshold}); undecided: {counts['undecided']}; unknown: "
            f"{counts['unknown']}.",
            self._chance(),
            *self._void(),
            *(f"{claim}." for claim in self.claims),
        ]
        moved = sum(pair.targets[0] != pair.targets[1] for pair in self.pairs)
        if moved:
            found.append(f"For {moved} inputs the runs explain different classes.")
        if any(self.only):
            found.append(
                f"Not compared: {self.only[0]} inputs only in {self.names[0]}, {self.only[1]} only in {self.names[1]}."
            )
        found.append(f"Different between the runs: {self.differences}.")
        return found

    def _chance(self) -> str:
        alpha = max((pair.alpha for pair in self.pairs if pair.interval), default=0.0)
        known = sum(pair.interval is not None for pair in self.pairs)
        if not known:
            return "Nothing is proved about any of them."
        together = Decimal(repr(alpha)) * known
        text = f"Each interval is false with probability at most {exact_text(alpha)} (alpha of both runs together)"
        if together >= 1:
            return f"{text}, so of {known} at most {together.normalize():f} are expected to be false."
        return f"{text}; all {known} hold at once with probability at least {(100 * (1 - together)).normalize():f} %."

    def _void(self) -> Iterator[str]:
        """Runs whose epsilons are not certified, and why."""
        for side, name in enumerate(self.names):
            for why, count in Counter(pair.void[side] for pair in self.pairs if pair.void[side]).items():
                yield f"{name} certifies nothing for {count} of {len(self.pairs)}, whose epsilons count as 0: {why}."

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "runs": list(self.names),
            "cosine": self.cosine,
            "counts": self.counts,
            "only": list(self.only),
            "differences": self.differences,
            "median_max_epsilon": {key: list(both) for key, both in self.medians.items()},
            "sentences": self.sentences,
            "pairs": [pair.row() for pair in self.pairs],
        }


def compare(first: Path, second: Path, cosine: float = 0.9) -> Comparison:
    """Match the inputs of two runs by their hashes and bound the cosine of each pair of exact smoothed maps."""
    wanted = float(check.fraction("cosine", cosine))
    with Store.read(first) as store, Store.read(second) as other:
        configs = store.config, other.config
        shared = [exact_text(one) for one in configs[0].cosines if one in configs[1].cosines]
        waiting: dict[str, list[ProvedRecord]] = defaultdict(list)
        mine, theirs, pairs, claims = 0, 0, list[Pair](), dict[str, None]()
        for one in _checked(other):
            theirs += 1
            if isinstance(one, ProvedRecord):
                waiting[one.record.input_sha256].append(one)
        for one in _checked(store):
            mine += 1
            if isinstance(one, ProvedRecord) and waiting.get(one.record.input_sha256):
                match = waiting[one.record.input_sha256].pop(0)
                pairs.append(_pair((one, match), (store, other), wanted, shared))
                claims |= dict.fromkeys(filter(None, (side.record.bound.claim for side in (one, match))))
        names = _names(store.recall("classes")) or _names(other.recall("classes"))
    if not pairs:
        raise StoredDataError(f"{first} and {second} have no input in common: no hash of an input is in both")
    names_of = (first.name, second.name) if first.name != second.name else (str(first), str(second))
    only = mine - len(pairs), theirs - len(pairs)
    return Comparison(names_of, configs, wanted, pairs, only, names, shown_claims(claims))


def _checked(store: Store) -> Iterator[ProvedRecord | Failure]:
    """Proved records; in a run one of whose certificates an attack broke, all of them are doubtful."""
    broken = any(one.violated for one in store.findings().values())
    for one in prove_all(store):
        if broken and isinstance(one, ProvedRecord):
            yield ProvedRecord(one.record, (*one.doubts, _BROKEN))
        else:
            yield one


def _names(stored: Any) -> list[str]:
    return [str(name) for name in stored] if isinstance(stored, list) else []


def _pair(
    both: tuple[ProvedRecord, ProvedRecord], stores: tuple[Store, Store], cosine: float, shared: Sequence[str]
) -> Pair:
    records = both[0].record, both[1].record
    maps = [smoothed_map(store, record) for store, record in zip(stores, records, strict=True)]
    reasons = [f"{store.path.name}: {why}" for store, why in zip(stores, map(_trouble, both, maps), strict=True) if why]
    interval = None
    if not reasons and maps[0] is not None and maps[1] is not None:
        if maps[0].shape == maps[1].shape:
            interval = _interval(records, (maps[0], maps[1]))
        else:
            reasons.append(f"the maps have different shapes: {maps[0].shape} and {maps[1].shape}")
    void = _void(both[0]), _void(both[1])
    stated = [{} if why else record.max_epsilon for why, record in zip(void, records, strict=True)]
    return Pair(
        items=(records[0].item, records[1].item),
        label=records[0].label if records[0].label is not None else records[1].label,
        targets=(records[0].target, records[1].target),
        interval=interval,
        verdict=_verdict(interval, cosine),
        reason="; ".join(reasons),
        alpha=records[0].alpha + records[1].alpha,
        epsilons={key: (stated[0].get(key, 0.0), stated[1].get(key, 0.0)) for key in shared},
        void=void,
        input=records[0].subject.input,
    )


def _void(one: ProvedRecord) -> str:
    """Why a record certifies nothing; empty if it counts."""
    if _BROKEN in one.doubts:
        return "an attack broke a certificate of this run"
    certificate = Certificate(one.record)
    if certificate.assumed:
        return "the limit is ASSUMED"
    return "the record is doubtful" if one.doubts else ""


def _trouble(one: ProvedRecord, sampled: FloatArray | None) -> str:
    """Why nothing can be said about the map of a record; empty if something can."""
    record, certificate = one.record, Certificate(one.record)
    if one.doubts:
        return f"the record {'; '.join(one.doubts)}"
    if Closeness not in certificate.evidence.facts:
        return "the record does not say how close its map is to the exact one"
    if certificate.assumed:
        return "the limit is ASSUMED, so nothing is proved about the map"
    if sampled is None:
        return "the run kept no map of this input (certify --pictures keeps more)"
    if trouble := map_trouble(record, sampled):
        return trouble
    if tilt_most(_length(sampled), *_known(record, sampled)) >= math.pi:
        return f"the map cannot be told from 0 after {record.samples:,} samples"
    return ""


def _interval(records: tuple[Record, Record], maps: tuple[FloatArray, FloatArray]) -> tuple[float, float]:
    known = [_known(record, sampled) for record, sampled in zip(records, maps, strict=True)]
    return cosine_interval(*maps, radii=(known[0][0], known[1][0]), lowers=(known[0][1], known[1][1]))


def _known(record: Record, sampled: FloatArray) -> tuple[float, float]:
    """How far the exact map is from the stored one at most, and how long it is at least."""
    evidence = record.evidence()
    radius = float(evidence.fact(Closeness).radius) * (1 + 1e-12)
    return radius + _STORED * _length(sampled) + TINY, float(evidence.norm_lower)


def _length(values: FloatArray) -> float:
    return float(np.linalg.norm(values))


def _verdict(interval: tuple[float, float] | None, cosine: float) -> Drift:
    if interval is None:
        return "unknown"
    if interval[0] >= cosine:
        return "unchanged"
    return "changed" if interval[1] < cosine else "undecided"


def in_order(pairs: Sequence[Pair]) -> Iterator[Pair]:
    """What changed first, the largest changes in front."""
    return iter(sorted(pairs, key=lambda pair: (VERDICTS.index(pair.verdict), pair.interval or (2.0, 2.0))))
