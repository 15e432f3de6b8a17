"""The smallest noise that will do: an honest search that measures the norm anew at every candidate."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

from torch import Tensor

from attribound import checks as check
from attribound.certificate import Certificate
from attribound.certification import certify, check_input
from attribound.errors import ArgumentError
from attribound.fields.base import Field
from attribound.noise import make_noise

CANDIDATES = 12


@final
@dataclass(frozen=True)
class RadiusSearch:
    """Result of `min_radius`.

    Attributes:
        radius: the smallest candidate whose certificate passes; None if none does. For Gaussian noise: sigma.
        certificate: its certificate; without one, that of the candidate with the largest certified epsilon.
        tried: every candidate tried, with the epsilon it certifies at the wanted cosine.
        reason: empty, or why there is none and what would help.
    """

    radius: float | None
    certificate: Certificate
    tried: dict[float, float]
    reason: str


def min_radius(
    field: Field,
    x: Tensor,
    target: int | None = None,
    *,
    cosine: float,
    epsilon: float,
    noise: str = "uniform",
    radii: Iterable[float] | None = None,
    alpha: float = 1e-3,
    **arguments: Any,
) -> RadiusSearch:
    """The smallest noise radius at which `cosine` is certified at `epsilon`, found by measuring.

    The closed form assumes that the norm does not change with the radius; it does. So candidates are tried from the
    smallest up, the norm is measured at each, and alpha is shared among them: with probability at least 1 - alpha
    everything said about every candidate is true, also about the one that is picked.

    Args:
        field: a bounded attribution.
        x: one input.
        target: class to explain; None: the predicted class.
        cosine: wanted cosine.
        epsilon: wanted budget.
        noise: "uniform" (radii of balls) or "gaussian" (sigmas).
        radii: candidates; default: 12, geometrically from a noise of epsilon / 3 per feature to 16 times that. Smaller
            noise is not tried, so name the candidates where it might do.
        alpha: failure probability, shared by all candidates.
        arguments: passed on to `certify` (samples, seed, batch, ...).
    """
    wanted_cosine = float(check.fraction("cosine", cosine))
    wanted_epsilon = float(check.positive("epsilon", epsilon))
    check_input(x)
    if "until" in arguments:
        raise ArgumentError("expected no `until`: min_radius asks its own question, (cosine, epsilon)")
    candidates = _candidates(wanted_epsilon, noise, x.numel()) if radii is None else sorted(float(one) for one in radii)
    if not candidates:
        raise ArgumentError("expected at least one candidate in `radii`")
    share = float(check.alpha(alpha)) / len(candidates)
    tried: dict[float, Certificate] = {}
    for scale in candidates:
        tried[scale] = _certify(
            field, x, target, make_noise(noise, scale), share, (wanted_cosine, wanted_epsilon), arguments
        )
        if tried[scale].cosine(wanted_epsilon) >= wanted_cosine:
            break
    reached = {scale: one.max_epsilon(wanted_cosine) for scale, one in tried.items()}
    best = max(reached, key=lambda scale: reached[scale])
    passed = tried[scale].cosine(wanted_epsilon) >= wanted_cosine
    picked = tried[scale if passed else best]
    return RadiusSearch(
        radius=scale if passed else None,
        certificate=picked,
        tried=reached,
        reason=""
        if passed
        else f"no candidate up to {candidates[-1]:g} will do; best, {best:g}: "
        + picked.explain(wanted_cosine, wanted_epsilon),
    )


def _certify(
    field: Field,
    x: Tensor,
    target: int | None,
    noise: Any,
    alpha: float,
    until: tuple[float, float],
    rest: Any,
) -> Certificate:
    result = certify(field, x, target, noise=noise, alpha=alpha, until=until, **rest)
    if not isinstance(result, Certificate):
        raise ArgumentError("expected one input in `x`, got a batch")
    return result


def _candidates(epsilon: float, noise: str, dim: int) -> list[float]:
    """From a noise energy at which little is certified upwards; the same span for both laws."""
    lowest = epsilon / 3
    scale = lowest * math.sqrt(dim + 2) if noise == "uniform" else lowest
    return [scale * 16 ** (k / (CANDIDATES - 1)) for k in range(CANDIDATES)]
