"""Continuous changes: a scan, its reaches, and an independent search for what breaks them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from torch import Tensor

from attribound.bounds.scan import Curve, angle_curve
from attribound.bounds.scan.evidence import ScanEvidence
from attribound.bounds.scan.tally import Windows
from attribound.changes.base import Continuous
from attribound.checks import FloatArray
from attribound.randomness import Purpose
from attribound.sampling.listed import cosines_with
from attribound.sampling.scan import Progress, Scan
from attribound.sampling.stratified import Stratified
from attribound.tolerances.answer import Answer, Break, inward
from attribound.tolerances.evidence import SHARES, WINDOW, Scanned

_BREAK_DRAWS = 64
_BREAK_STEPS = (0.0, 0.02, 0.05, 0.1)
"""How much further out, over the range, the search goes on where fresh draws do not confirm a break."""


@final
@dataclass(frozen=True)
class Question:
    """What is asked about one scanned change.

    Attributes:
        cosines: in the order asked.
        alpha: failure probability of everything said about the change.
        reference: "plain" or "shown".
        plain: the plain map, in the field's shape.
    """

    cosines: Sequence[float]
    alpha: float
    reference: str
    plain: Tensor


def scanned_answer(scan: Scan, question: Question, progress: Progress | None = None) -> Answer:
    """Scan a continuous change and answer."""
    change, plain = scan.change, question.plain.flatten().double().numpy()
    windows = scan.run(len(plain), plain if question.reference == "plain" else None, progress)
    each = SHARES["reach"] * question.alpha / len(question.cosines)
    kept = ScanEvidence.of(windows, question.cosines, each)
    search = _Search(scan, windows, tuple(question.plain.shape))
    broken = {cosine: search.nearest(cosine, *kept.reach(cosine, each)) for cosine in question.cosines}
    shown = windows.design.reference
    return Answer(
        evidence=Scanned(kept, np.array([inward(change, float(t)) for t in kept.grid.positions], np.float64)),
        proof="assumed" if scan.along.field.assumed else "alpha",
        alpha=question.alpha,
        broken=broken,
        shown=torch.from_numpy(shown.copy()).view(question.plain.shape),
        reference=question.reference,
        fidelity=max(float(cosines_with(shown[None], plain)[0]), 0.0),
        draws=search.draws + scan.draws(windows.design.grid),
        window=change.shown(scan.window),
        window_share=float(scan.window) / max(change.high, -change.low),
        angles=_shown_curve(change, angle_curve(windows, alpha=SHARES["curve"] * question.alpha)),
        bounds=(change.shown(change.low), change.shown(change.high)),
    )


def _shown_curve(change: Continuous, curve: Curve) -> Curve:
    inside = np.clip(curve.t, change.low, change.high)
    t = np.where(np.isclose(curve.t, inside, rtol=1e-9, atol=0.0), inside, curve.t)  # a range's end is named exactly
    return Curve(np.array([change.shown(float(one)) for one in t]), curve.proved, curve.sampled)


class _Search:
    """Looks beyond proved ends for a change that breaks the claim, with draws of its own."""

    def __init__(self, scan: Scan, windows: Windows, shape: tuple[int, ...]) -> None:
        self._scan, self._windows, self._shape = scan, windows, shape
        self.draws = 0

    def nearest(self, cosine: float, left: float | None, right: float | None) -> Break | None:
        """The nearest of what is found on the two sides."""
        sides = [self._beyond(cosine, sign, abs(end or 0.0)) for sign, end in ((-1, left), (1, right))]
        found = [pair for pair in sides if pair is not None]
        return min(found, key=lambda pair: abs(pair[0]))[1] if found else None

    def _beyond(self, cosine: float, sign: int, start: float) -> tuple[float, Break] | None:
        """From the first sampled window mean that has turned too far outward, until fresh draws confirm one."""
        positions, high = self._windows.design.grid.positions, self._windows.design.grid.positions[-1]
        too_far = (np.cos(self._windows.angles) < cosine) & (sign * positions >= start)
        if not too_far.any():
            return None
        first, span = float(np.abs(positions[too_far]).min()), max(float(high), -float(positions[0]))
        for step in _BREAK_STEPS:
            outward = too_far & (np.abs(positions) >= first + step * span)
            if outward.any():
                t = sign * float(np.abs(positions[outward]).min())
                if (confirmed := self._confirm(t, cosine)) is not None:
                    return t, confirmed
        return None

    def _confirm(self, t: float, cosine: float) -> Break | None:
        """The window mean at t from fresh draws, if it has turned too far."""
        scan, change = self._scan, self._scan.change
        at, source = torch.tensor([t], dtype=torch.float64), Stratified(scan.along, Purpose.BREAK, scan.seed, scan.item)
        mean: FloatArray = source.means(at, scan.window, _BREAK_DRAWS, part=self.draws).maps[0].numpy()
        self.draws += _BREAK_DRAWS
        reached = float(cosines_with(mean[None], self._windows.design.reference)[0])
        if not reached < cosine:
            return None
        value = change.shown(t)
        return Break(
            value=value,
            label=f"{value:.3g} {change.unit}",
            cosine=reached,
            input=scan.along.inputs(at)[0],
            map=torch.from_numpy(mean).view(self._shape),
        )


def default_window(change: Continuous) -> float:
    """A part of the range."""
    return max(change.high, -change.low) * WINDOW


def checked_window(change: Continuous, shown: float) -> float:
    """A window given in the change's unit, as a parameter; nan where it makes no sense."""
    window = change.inner(shown)
    return window if math.isfinite(window) and 0 < window <= max(change.high, -change.low) else math.nan
