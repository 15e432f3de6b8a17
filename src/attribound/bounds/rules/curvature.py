"""The curvature rule: for smoothed saliency of a probability, no limit on the gradient is needed.

It assumes that the field is the true gradient of f almost everywhere and that f is locally Lipschitz: then the mean of
the gradients is the gradient of the mean. Rounding, thresholds or detached parts in a model break that, so the user
must state it. The smoothed f has a Hessian of bounded spectral norm (the law knows it), so its gradient, the smoothed
saliency, moves by at most that times epsilon. With units the law knows the Hessian in x / units only: the gradient in x
is longer by up to 1 / (smallest unit), and moves by that much more. Where a feature does not move, nothing is smoothed
along it, and the rule says nothing (docs/theory/other-rules.md).
"""

from typing import TYPE_CHECKING, Any, final

import numpy as np

from attribound import checks as check
from attribound.bounds.facts import Length, ProbabilityGradient
from attribound.bounds.laws import Normal
from attribound.bounds.rules.base import Rule
from attribound.bounds.tight import VACUOUS
from attribound.checks import FloatArray, Number

if TYPE_CHECKING:
    from attribound.bounds.evidence import Evidence

_ROUNDING, _LARGEST = 1e-12, np.finfo(np.float64).max
CURVATURE = Normal(2, 1.0).curvature
"""2 phi(1) = 0.48394145, phi the standard normal density."""


@final
class Curvature(Rule):
    """The gradient of a smoothed probability cannot turn faster than its curvature allows."""

    name, words = "curvature", "the curvature rule (gradient of a probability)"
    needs = (Length, ProbabilityGradient)

    def applies(self, evidence: "Evidence") -> bool:
        """Only for laws that bound the curvature."""
        return super().applies(evidence) and _rate(evidence) is not None

    def cosine(self, evidence: "Evidence", epsilon: FloatArray) -> FloatArray:
        """From the displacement."""
        moved = self.displacement(evidence, epsilon)
        known = np.asarray(cosine_from_displacement(evidence.norm_lower, np.minimum(moved, _LARGEST)))
        return np.where(moved < _LARGEST, known, VACUOUS)

    def displacement(self, evidence: "Evidence", epsilon: FloatArray) -> FloatArray:
        """Curvature times epsilon, in the input's own values."""
        with np.errstate(over="ignore"):  # a forged epsilon may be too large for anything to follow
            return np.asarray((_rate(evidence) or np.inf) * epsilon * (1 + _ROUNDING))


def _rate(evidence: "Evidence") -> float | None:
    """How far the smoothed gradient moves per unit of epsilon at most; None if that is unknown or no normal float."""
    if not evidence.budget.moving.all():  # along what does not move nothing is smoothed
        return None
    rate = (evidence.law.curvature or np.inf) / evidence.budget.smallest
    return rate if np.finfo(np.float64).tiny <= rate < np.inf else None


def displacement_curvature(epsilon: Number, sigma: Number) -> Any:
    """Upper bound on ||h(x + delta) - h(x)|| for the gradient h of a Gaussian-smoothed output in [0, 1]."""
    shift = check.non_negative("epsilon", epsilon)
    return check.unwrap(CURVATURE * shift / check.positive("sigma", sigma) ** 2)


def cosine_bound_curvature(norm: Number, *, epsilon: Number, sigma: Number) -> Any:
    """Lower bound on the cosine for saliency of a probability under Gaussian noise (f locally Lipschitz)."""
    return cosine_from_displacement(norm, displacement_curvature(epsilon, sigma))


def cosine_from_displacement(norm: Number, displacement: Number) -> Any:
    """Smallest cosine between h and any point within `displacement` of it; -1.0 once the ball holds the origin."""
    norm = check.non_negative("norm", norm)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        sine = np.where(norm > 0, check.non_negative("displacement", displacement) / norm, np.inf)
        return check.unwrap(np.where(sine < 1, np.sqrt(np.maximum((1 - sine) * (1 + sine), 0.0)), VACUOUS))
