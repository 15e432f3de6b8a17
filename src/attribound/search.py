"""The smallest noise that will do: an honest search that measures the norm anew at every candidate."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

from torch import Tensor

from attribound import checks as check
from attribound.bounds.laws import LAWS, Law
from attribound.certificates.certificate import Certificate
from attribound.certification.arguments import check_input
from attribound.certification.certifier import certify
from attribound.errors import ArgumentError
from attribound.fields.base import Field
from attribound.noise import NoiseOf

CANDIDATES = 12


@final
@dataclass(frozen=True)
class RadiusSearch:
    """Result of `min_radius`.

    Attributes:
        radius: the smallest candidate whose certificate passes; None if none does. For Gaussian noise: sigma.
        certificate: its certificate; without one, that of the candidate with the largest certified epsilon. Its alpha
            is its own share; picked as it was, it is false with probability at most the alpha of the whole search.
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
    wanted_cosine, wanted_epsilon = float(check.fraction("cosine", cosine)), float(check.positive("epsilon", epsilon))
    x = check_input(x)
    if "until" in arguments:
        raise ArgumentError("expected no `until`: min_radius asks its own question, (cosine, epsilon)")
    law = _law(noise)
    candidates = _candidates(wanted_epsilon, law, x.numel()) if radii is None else sorted(float(one) for one in radii)
    if not candidates:
        raise ArgumentError("expected at least one candidate in `radii`")
    share, until = float(check.alpha(alpha)) / len(candidates), (wanted_cosine, wanted_epsilon)
    tried: dict[float, Certificate] = {}
    for scale in candidates:
        tried[scale] = certify(field, x, target, noise=NoiseOf(law, scale), alpha=share, until=until, **arguments)
        if tried[scale].cosine(wanted_epsilon) >= wanted_cosine:
            break
    reached = {scale: one.max_epsilon(wanted_cosine) for scale, one in tried.items()}
    best = max(reached, key=lambda scale: reached[scale])
    passed = tried[scale].cosine(wanted_epsilon) >= wanted_cosine
    picked = tried[scale if passed else best]
    why = f"no candidate up to {candidates[-1]:g} will do; best, {best:g}: " + picked.explain(*until)
    return RadiusSearch(scale if passed else None, picked, reached, "" if passed else why)


def _law(name: str) -> type[Law]:
    if name not in LAWS:
        raise ArgumentError(f"expected `noise` {' or '.join(LAWS)}, got {name!r}")
    return LAWS[name]


def _candidates(epsilon: float, law: type[Law], dim: int) -> list[float]:
    """From a noise energy at which little is certified upwards; the same span for all laws."""
    scale = law.value_of(epsilon / 3, dim)
    return [scale * 16 ** (k / (CANDIDATES - 1)) for k in range(CANDIDATES)]
