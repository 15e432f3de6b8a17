"""Raw maps, as the paper smooths them, and its readings of M: what its formula gives with them guarantees nothing."""

import math
from collections.abc import Mapping

import numpy as np

from attribound.attacks.view import View
from attribound.certification.reopen import Opened
from attribound.checks import FloatArray
from attribound.fields import IntegratedGradients
from attribound.paper.settings import Settings
from attribound.randomness import Purpose, stream
from attribound.sampling import Around

ROWS, SINGLE = 256, 4
"""Gradients behind the norm of a smoothed raw map; noises, each with both signs, among which the longest is sought."""
READINGS = ("raw, M = 1", "raw, M seen")


def measures_raw(settings: Settings) -> bool:
    """Whether what is explained is what the paper explains."""
    return settings.method.startswith("ig") and settings.output == "probability"


def raw_lengths(subject: Opened, target: int, *, seed: int, item: int) -> dict[str, float]:
    """The norm of the smoothed map that is not scaled to length 1, and the longest of a few single ones.

    Without scaling, one random point of the path per draw has the same mean as the whole path. The norm is that of a
    product of two independent means, so that chance does not lengthen it.
    """
    single = subject.field.base
    assert isinstance(single, IntegratedGradients)
    random = IntegratedGradients(single.model, single.baseline, single.steps, "random", single.output)
    smoothed = View(Around(random, target, subject.x), subject.noise, ROWS // 2)
    one, two = (smoothed.map(stream(Purpose.FIGURE, seed, item, part)) for part in (0, 1))
    alone = View(Around(single, target, subject.x), subject.noise, SINGLE)
    maps, _ = alone.draws(stream(Purpose.FIGURE, seed, item, 2))
    return {"raw": math.sqrt(max(float(one @ two), 0.0)), "longest": float(maps.norm(dim=1).max())}


def ratios(measured: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """(N,) norms of raw smoothed maps over M by reading: 1, as for a sum that completeness bounds; the longest seen."""
    if "raw" not in measured:
        return {}
    raw = measured["raw"]
    return dict(zip(READINGS, (np.minimum(raw, 1.0), np.minimum(raw / measured["longest"], 1.0)), strict=True))
