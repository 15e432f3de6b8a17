"""The model-free rule for smoothed saliency of a probability: no limit on the gradient is needed.

It assumes that the field is the true gradient of f almost everywhere and that f is locally Lipschitz: then the mean of
the gradients is the gradient of the mean. Rounding, thresholds or detached parts in a model break that.

f: R^d -> [0, 1] smoothed with Gaussian noise has a Hessian of spectral norm at most 2 phi(1) / sigma^2, because
E[f (z^2 - 1)] <= E[(z^2 - 1)_+] = 2 phi(1). So its gradient, the smoothed saliency, moves by at most that times
epsilon (docs/theory/other-rules.md).
"""

from typing import Any

import numpy as np

from attribound.bounds import arguments as check
from attribound.bounds.arguments import Number
from attribound.bounds.cosine import VACUOUS

CURVATURE = float(np.sqrt(2.0 / (np.pi * np.e)))
"""2 phi(1) = 0.48394145, phi the standard normal density."""


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
    with np.errstate(divide="ignore", invalid="ignore"):
        sine = np.where(norm > 0, check.non_negative("displacement", displacement) / norm, np.inf)
        return check.unwrap(np.where(sine < 1, np.sqrt(np.maximum((1 - sine) * (1 + sine), 0.0)), VACUOUS))
