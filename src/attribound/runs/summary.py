"""What a run found, read record by record."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from attribound.certificate import exact_text
from attribound.runs.config import RunConfig
from attribound.runs.store import Store

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


@final
@dataclass(frozen=True)
class Summary:
    """A run in numbers.

    Attributes:
        config: what was run.
        counts: inputs by status.
        accuracy: share classified as labelled; None without labels.
        accuracy_noisy: the same under the noise.
        quantiles: per cosine, quantiles of the largest certified epsilon.
        fractions: per cosine, share of all inputs (errors included) certified at each epsilon.
        errors: the first few error messages.
        attacked: attacked inputs, violated certificates, median gap between found and certified cosine.
        seconds: work in all.
    """

    config: RunConfig
    counts: dict[str, int]
    accuracy: float | None
    accuracy_noisy: float | None
    quantiles: dict[str, dict[str, float]]
    fractions: dict[str, dict[str, float]]
    errors: list[dict[str, Any]]
    attacked: dict[str, Any] | None
    seconds: float

    @property
    def total(self) -> int:
        """Inputs with a record."""
        return sum(self.counts.values())

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        rest = {key: value for key, value in vars(self).items() if key != "config"}
        return {"config": self.config.to_json(), "items": self.total, **rest}


def summarise(store: Store) -> Summary:
    """Read a run's records once; memory is a few numbers per record."""
    config = store.config
    counts: Counter[str] = Counter()
    budgets: dict[str, list[float]] = {exact_text(cosine): [] for cosine in config.cosines}
    right, noisy, errors, seconds = [], [], list[dict[str, Any]](), 0.0
    for record in store.records():
        counts[str(record["status"])] += 1
        seconds += float(record["seconds"])
        if record["status"] == "error":
            errors += [{"item": record["item"], "message": str(record["message"])}] if len(errors) < 5 else []
            continue
        for key, values in budgets.items():
            values.append(float(record["max_epsilon"][key]))
        if record["label"] is not None:
            right.append(record["label"] == record["prediction"])
            noisy.append(float(record["accuracy_noisy"]))
    return Summary(
        config=config,
        counts=dict(counts),
        accuracy=_mean(right),
        accuracy_noisy=_mean(noisy),
        quantiles={key: _quantiles(values) for key, values in budgets.items()},
        fractions={key: _fractions(values, config.epsilons, counts.total()) for key, values in budgets.items()},
        errors=errors,
        attacked=_attacked(store),
        seconds=seconds,
    )


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return float(np.mean(found)) if found else None


def _quantiles(values: list[float]) -> dict[str, float]:
    return {f"{q:g}": float(np.quantile(values, q, method="lower")) for q in QUANTILES} if values else {}


def _fractions(values: list[float], epsilons: tuple[float, ...], total: int) -> dict[str, float]:
    array = np.array(values)
    return {exact_text(epsilon): float((array >= epsilon).sum() / max(total, 1)) for epsilon in epsilons}


def _attacked(store: Store) -> dict[str, Any] | None:
    findings = list(store.findings().values())
    if not findings:
        return None
    return {
        "items": len(findings),
        "violated": sum(bool(one["violated"]) for one in findings),
        "median_gap": float(np.median([float(one["gap"]) for one in findings])),
    }
