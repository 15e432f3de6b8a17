"""What a run found, read record by record; every number is one that the records' evidence proves."""

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from attribound.certificates.answers import StatedReason
from attribound.certificates.certificate import Certificate
from attribound.certificates.finding import Finding
from attribound.certificates.record import Failure, Record, shown_claims
from attribound.certificates.statements.registry import words
from attribound.certificates.subject import called
from attribound.rounding import exact_text, lower_quantile, upper_quantile
from attribound.runs.config import RunConfig
from attribound.runs.proved import ProvedRecord, prove_all, uncollected
from attribound.runs.records import input_of
from attribound.runs.store import Store

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
CHANCE = 0.9
"""The quantile of the cosines between maps of different inputs that a certified cosine should exceed."""


@final
@dataclass(frozen=True)
class Summary:
    """A run in numbers.

    Attributes:
        config: what was run.
        counts: inputs by status.
        correct: inputs certified at all whose prediction is their label; None without labels.
        accuracy: share classified as labelled; None without labels.
        accuracy_noisy: the same under the noise.
        quantiles: per cosine, quantiles of the largest certified epsilon.
        visible: per cosine, the median epsilon for maps as sampled.
        fractions: per cosine, share of all inputs (errors included) certified at each epsilon.
        fidelity: median cosine of smoothed and plain maps.
        chance: the 90 % quantile of the cosines between maps of different inputs; None if too few are stored.
        reasons: why inputs are uncertified: the first few reasons.
        errors: the first few error messages.
        doubtful: records that state more than they prove, or do not belong here, and why.
        orders: how many reasons were counted, and per number of them the median epsilon up to which so many provably
            stay, and all in order; None if none were counted.
        attacked: attacked inputs, violated certificates, median gap between found and certified cosine.
        seconds: work in all.
        claims: what authors state about limits that they say they proved.
        example: what every statement says about the first certified input, a line each.
    """

    config: RunConfig
    counts: dict[str, int]
    correct: int | None
    accuracy: float | None
    accuracy_noisy: float | None
    quantiles: dict[str, dict[str, float]]
    visible: dict[str, float]
    fractions: dict[str, dict[str, float]]
    fidelity: float | None
    chance: float | None
    reasons: list[dict[str, Any]]
    errors: list[dict[str, Any]]
    doubtful: dict[int, str]
    orders: dict[str, Any] | None
    attacked: dict[str, Any] | None
    seconds: float
    claims: list[str]
    example: dict[str, str]

    @property
    def total(self) -> int:
        """Inputs with a record."""
        return sum(self.counts.values())

    @property
    def failed(self) -> bool:
        """Whether every input failed."""
        return self.counts.get("error") == self.total

    @property
    def assumed(self) -> bool:
        """Some limit is a guess, so that these numbers are not certificates."""
        return self.config.bound.startswith("assumed") or "assumed" in self.counts

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        rest = {key: value for key, value in vars(self).items() if key != "config"}
        return {"config": self.config.to_json(), "items": self.total, **rest}


def summarise(store: Store) -> Summary:
    """Read a run's records once; memory is a few numbers per record."""
    config = store.config
    tally = Tally(config)
    with uncollected():
        for one in prove_all(store):
            tally.take(one)
    return tally.summary(config, list(store.findings().values()), chance_level(store))


class Tally:
    """Running lists over the records of one run, filled while they are read."""

    def __init__(self, config: RunConfig) -> None:
        keys = [exact_text(cosine) for cosine in config.cosines]
        self.counts: Counter[str] = Counter()
        # Packed: a run may have a million records.
        self.budgets, self.visible = ({key: array("d") for key in keys} for _ in range(2))
        self.right, self.noisy, self.fidelity = array("b"), array("d"), array("d")
        self.reasons, self.errors = list[dict[str, Any]](), list[dict[str, Any]]()
        self.doubtful: dict[int, str] = {}
        self.stated = list[tuple[StatedReason, ...]]()
        self.correct, self.seconds = 0, 0.0
        self.claims: dict[str, None] = {}
        self.example: dict[str, str] = {}

    def take(self, one: ProvedRecord | Failure) -> None:
        """Count one record."""
        if isinstance(one, Failure):
            self.counts[one.status] += 1
            self.seconds += one.seconds
            _note(self.errors, one, one.message)
            return
        record = one.record
        if claim := record.bound.claim:
            self.claims[claim] = None
        self.counts[record.status] += 1
        self.seconds += record.seconds
        for key in self.budgets:
            self.budgets[key].append(record.max_epsilon.get(key, 0.0))
            self.visible[key].append(record.max_visible_epsilon.get(key, 0.0))
        if record.fidelity is not None:
            self.fidelity.append(record.fidelity)
        if record.label is not None:
            self.right.append(record.label == record.prediction)
            self.noisy.append(record.accuracy_noisy or 0.0)
            self.correct += bool(self.right[-1]) and record.status != "uncertified"
        if record.stated_reasons:
            self.stated.append(record.stated_reasons)
        if not self.example and record.status != "uncertified":
            self.example = {"item": called(record.item, record.subject.input)[5:], **words(Certificate(record))}
        if record.reason:
            _note(self.reasons, record, record.reason)
        if one.doubts:
            self.doubtful[record.item] = "; ".join(one.doubts)

    def summary(self, config: RunConfig, findings: Sequence[Finding], chance: float | None) -> Summary:
        """The numbers that follow."""
        return Summary(
            config=config,
            counts=dict(self.counts),
            correct=self.correct if self.right else None,
            accuracy=_mean(self.right),
            accuracy_noisy=_mean(self.noisy),
            quantiles={key: _quantiles(values) for key, values in self.budgets.items()},
            visible={key: lower_quantile(values, 0.5) for key, values in self.visible.items()},
            fractions={k: _fractions(v, config.epsilons, self.counts.total()) for k, v in self.budgets.items()},
            fidelity=lower_quantile(self.fidelity, 0.5) if self.fidelity else None,
            chance=chance,
            reasons=self.reasons,
            errors=self.errors,
            doubtful=self.doubtful,
            orders=_orders(self.stated),
            attacked=_attacked(findings),
            seconds=self.seconds,
            claims=shown_claims(self.claims),
            example=self.example,
        )


def chance_level(store: Store, most: int = 24, *, name: str = "smoothed") -> float | None:
    """The 90 % quantile of the cosines between maps of different inputs; None with fewer than three maps of this name.

    Empty maps are like no other and left out; where the quantile falls between two cosines, it is the larger one.
    """
    maps = [store.pictures(item, name).get(name) for item in store.pictured()[:most]]
    flat = [one.ravel() / np.linalg.norm(one) for one in maps if one is not None and one.any()]
    flat = [one for one in flat if one.shape == flat[0].shape]
    if len(flat) < 3:
        return None
    cosines = np.stack(flat) @ np.stack(flat).T
    return upper_quantile(cosines[np.triu_indices(len(flat), 1)].tolist(), CHANCE)


def _note(notes: list[dict[str, Any]], record: Record | Failure, message: str) -> None:
    if len(notes) < 5:
        notes.append({"item": record.item, "input": input_of(record), "message": message})


def _orders(stated: Sequence[tuple[StatedReason, ...]]) -> dict[str, Any] | None:
    """Medians over inputs: up to which epsilon at least 1, 2, ... reasons stay, and all of them in their order."""
    if not stated:
        return None
    most = max(map(len, stated))
    reaches = [sorted((one.stays for one in reasons), reverse=True) for reasons in stated]
    stay = {
        str(count): lower_quantile([reach[count - 1] if count <= len(reach) else 0.0 for reach in reaches], 0.5)
        for count in range(most, 0, -1)
    }
    ordered = [min([one.stays for one in reasons] + [one.leads for one in reasons[:-1]]) for reasons in stated]
    return {"reasons": most, "inputs": len(stated), "stay": stay, "in_order": lower_quantile(ordered, 0.5)}


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _quantiles(values: Sequence[float]) -> dict[str, float]:
    ordered = sorted(values)  # once: sorting what is sorted takes no time
    return {f"{q:g}": lower_quantile(ordered, q) for q in QUANTILES} if ordered else {}


def _fractions(values: Sequence[float], epsilons: tuple[float, ...], total: int) -> dict[str, float]:
    known = np.array(values)
    return {exact_text(epsilon): float((known >= epsilon).sum() / max(total, 1)) for epsilon in epsilons}


def _attacked(findings: Sequence[Finding]) -> dict[str, Any] | None:
    if not findings:
        return None
    return {
        "items": len(findings),
        "violated": sum(one.violated for one in findings),
        "median_gap": lower_quantile([one.gap for one in findings], 0.5),
    }
