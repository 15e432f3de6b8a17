"""Two runs over the same inputs: how far did each explanation move, proved from both records."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, final

from attribound import checks as check
from attribound.bounds.drift import cosine_interval
from attribound.certificates.record import shown_claims
from attribound.errors import StoredDataError
from attribound.rounding import exact_text, lower_quantile, round_down, round_up
from attribound.runs.compared import ComparedRuns, PairedRecords, in_pairs, names_of
from attribound.runs.proved import ProvedRecord
from attribound.runs.sides import Maps, Side, checked
from attribound.runs.store import Store

_ORDER = ("changed", "undecided", "unknown", "unchanged")
"""What changed comes first, because readers look for it."""


@final
@dataclass(frozen=True, kw_only=True)
class Pair(PairedRecords):
    """One input of both runs.

    Attributes:
        label: its class, if it has one.
        targets: the class that each run explains.
        interval: proved bounds on the cosine of the two exact smoothed maps; None if there are none.
        reason: why there is no interval.
        alpha: the interval is false with probability at most this.
        epsilons: by cosine, the largest epsilon that each run certifies; 0.0 where its record certifies nothing.
        void: why each run's record certifies nothing, whatever it states; empty if it counts.
    """

    label: int | None
    targets: tuple[int, int]
    interval: tuple[float, float] | None
    reason: str
    alpha: float
    epsilons: dict[str, tuple[float, float]]
    void: tuple[str, str]

    @property
    def shown(self) -> str:
        """The interval, rounded outwards."""
        return "-" if self.interval is None else f"{round_down(self.interval[0], 3)} to {round_up(self.interval[1], 3)}"


@final
@dataclass(frozen=True, kw_only=True)
class Comparison(ComparedRuns[Pair]):
    """Two runs, input by input.

    Attributes:
        cosine: unchanged if the cosine is provably at least this, changed if it is provably below.
        only: how many records each run has that the other has not; failures count here.
        classes: names of the classes.
        claims: what authors state about limits that they say they proved.
    """

    verdicts = ("unchanged", "changed", "undecided", "unknown")

    cosine: float
    only: tuple[int, int]
    classes: list[str]
    claims: Sequence[str] = ()

    @property
    def ordered(self) -> list[Pair]:
        """What changed first, the largest changes in front."""
        return sorted(self.pairs, key=lambda pair: (_ORDER.index(pair.verdict), pair.interval or (2.0, 2.0)))

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
            **super().to_json(),
            "cosine": self.cosine,
            "only": list(self.only),
            "median_max_epsilon": {key: list(both) for key, both in self.medians.items()},
        }


def compare(first: Path, second: Path, cosine: float = 0.9) -> Comparison:
    """Match the inputs of two runs by their hashes and bound the cosine of each pair of exact smoothed maps."""
    wanted = float(check.fraction("cosine", cosine))
    with Store.read(first) as store, Store.read(second) as other:
        configs = store.config, other.config
        shared = [exact_text(one) for one in configs[0].cosines if one in configs[1].cosines]
        maps = Maps(store), Maps(other)
        pairs, claims = list[Pair](), dict[str, None]()
        for both in in_pairs(_sides(store, shared), _sides(other, shared)):
            pairs.append(_pair(both, maps, wanted, shared))
            claims |= dict.fromkeys(filter(None, (side.claim for side in both)))
        classes = store.names("classes") or other.names("classes")
        mine, theirs = len(store.done()), len(other.done())
    if not pairs:
        raise StoredDataError(f"{first} and {second} have no input in common: no hash of an input is in both")
    return Comparison(
        names=names_of(first, second),
        configs=configs,
        pairs=pairs,
        cosine=wanted,
        only=(mine - len(pairs), theirs - len(pairs)),
        classes=classes,
        claims=shown_claims(claims),
    )


def _sides(store: Store, cosines: Sequence[str]) -> Iterator[tuple[str, Side]]:
    """By input, what is needed of each record that is no failure."""
    for one in checked(store):
        if isinstance(one, ProvedRecord):
            yield one.record.input_sha256, Side.of(one, cosines)


def _pair(both: tuple[Side, Side], kept: tuple[Maps, Maps], cosine: float, shared: Sequence[str]) -> Pair:
    one, two = both
    maps = kept[0].of(one.item), kept[1].of(two.item)
    troubles = (side.trouble_with(sampled) for side, sampled in zip(both, maps, strict=True))
    reasons = [f"{run.name}: {why}" for run, why in zip(kept, troubles, strict=True) if why]
    interval = None
    if not reasons and maps[0] is not None and maps[1] is not None:
        if maps[0].shape == maps[1].shape:
            known = one.around(maps[0]), two.around(maps[1])
            radii, lowers = zip(*known, strict=True)
            interval = cosine_interval(maps[0], maps[1], radii=radii, lowers=lowers)
        else:
            reasons.append(f"the maps have different shapes: {maps[0].shape} and {maps[1].shape}")
    return Pair(
        items=(one.item, two.item),
        label=one.label if one.label is not None else two.label,
        targets=(one.target, two.target),
        interval=interval,
        verdict=_verdict(interval, cosine),
        reason="; ".join(reasons),
        alpha=one.alpha + two.alpha,
        epsilons=dict(zip(shared, zip(one.epsilons, two.epsilons, strict=True), strict=True)),
        void=(one.void, two.void),
        input=one.input,
    )


def _verdict(interval: tuple[float, float] | None, cosine: float) -> str:
    if interval is None:
        return "unknown"
    if interval[0] >= cosine:
        return "unchanged"
    return "changed" if interval[1] < cosine else "undecided"
