"""What the page's charts show, as plain numbers: the page draws them itself.

Shares are kept as counts, so that the page can round them down. The chart of certified shares needs nothing of its own:
it is drawn from the verdict's counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from attribound.certificates.finding import Finding
from attribound.checks import FloatArray
from attribound.report.shared.collect import Scan
from attribound.rounding import exact_text, lower_quantile, percent, round_down
from attribound.sanitise import counted

_POINTS = 160


@final
@dataclass(frozen=True)
class Attacked:
    """Proved and broken among the attacked inputs.

    Attributes:
        cosine: the cosine that was attacked.
        proved: the epsilon proved for each attacked input.
        broken: the smallest epsilon at which an attack reached the cosine, for inputs where that was searched; None:
            the search found none.
        tried: up to this epsilon, every input that was searched was attacked or broken.
    """

    cosine: float
    proved: list[float]
    broken: list[float | None]
    tried: float

    @classmethod
    def among(cls, findings: Sequence[Finding]) -> "Attacked":
        """Read findings. Only where larger changes were tried is it known which of them break anything."""
        cosine = float(round_down(lower_quantile([one.certified for one in findings], 0.5), 6))
        searched = [one for one in findings if one.settings.get("tightness")]
        unbroken = [one.tried for one in searched if one.broken_at is None]
        return cls(
            cosine,
            [one.epsilon if one.certified >= cosine else 0.0 for one in findings],
            [one.broken_at for one in searched],
            min(unbroken, default=float("inf")),
        )

    def words(self, noun: str) -> str:
        """What was attacked and what came of it."""
        text = f"Attacked at cosine {exact_text(self.cosine)}: {counted(len(self.proved), noun)}."
        if not self.broken:
            return f"{text} Only changes up to the certified epsilon were tried, none larger."
        seen = [one for one in self.broken if one is not None]
        text += f" Larger changes were tried for {len(self.broken)}: {len(seen)} were broken."
        tight = [p / b for p, b in zip(self.proved, self.broken, strict=False) if b]
        if tight and len(self.broken) == len(self.proved):
            median = percent(lower_quantile(tight, 0.5), 0)
            text += f" In the median, {median} of the breaking epsilon is proved."
        return text

    def chart(self) -> dict[str, Any]:
        """Steps of both shares over epsilon. A change that was not tried is never called not broken."""
        known = [one for one in self.broken if one is not None]
        top = 1.08 * max([*self.proved, *known, 1e-9])
        grid = np.linspace(0.0, top, _POINTS)
        lines = [{"name": f"proved at cosine {exact_text(self.cosine)}", "counts": _reaching(self.proved, grid)}]
        if self.broken and len(self.broken) == len(self.proved):
            endless = [np.inf if one is None else one for one in self.broken]
            counts = _reaching(endless, grid[grid <= self.tried])
            lines.append({"name": "not broken by any attack", "counts": counts})
        return {"x": grid.round(6).tolist(), "top": top, "total": len(self.proved), "lines": lines}


def noise_levels(scan: Scan) -> dict[str, Any]:
    """What each noise level costs in accuracy and gives in certified epsilon, with texts that are rounded down."""
    word = "epsilon under an ASSUMED limit" if scan.assumed else "certified epsilon"
    return {
        "title": f"median {word} at cosine {exact_text(scan.cosine)}",
        "accuracy": scan.accuracy,
        "x": [level.median_max_epsilon for level in scan.levels],
        "y": [level.accuracy_noisy for level in scan.levels],
        "names": [f"sigma {level.sigma:g}" for level in scan.levels],
        "texts": [
            f"sigma {level.sigma:g}: epsilon {round_down(level.median_max_epsilon, 3)}, "
            f"accuracy {percent(level.accuracy_noisy)}"
            for level in scan.levels
        ],
    }


def _reaching(values: Sequence[float], grid: FloatArray) -> list[int]:
    """How many of the values are at or above each point of the grid; those at zero are nowhere."""
    ordered = np.sort(np.array(values, np.float64))
    above = len(ordered) - np.searchsorted(ordered, np.maximum(grid, 1e-300), side="left")
    return [int(count) for count in above]
