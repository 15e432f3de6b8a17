"""What holds for the *sampled* maps that people compare: smaller than what holds for the exact ones."""

import numpy as np

from attribound.bounds.confidence import mean_radius
from attribound.bounds.evidence import Evidence
from attribound.bounds.facts import Closeness, Length, Numbers
from attribound.bounds.rules.curvature import cosine_from_displacement
from attribound.checks import FloatArray


def visible_cosine(evidence: Evidence, epsilon: Numbers, draws: Numbers) -> FloatArray:
    """Lower bound on the cosine between the sampled map and one sampled at the attacked input; -1.0: nothing.

    The exact maps are displaced by so much at most, and each sampled map is within its radius of its exact one. The
    noise at the attacked input is drawn after that input is fixed.

    Args:
        evidence: about one explanation or many.
        epsilon: sizes of the change.
        draws: independent draws behind the other map.
    """
    moved = evidence.displacement(epsilon)
    closeness = evidence.fact(Closeness)
    other = mean_radius(
        limit=evidence.limit,
        norm_lower=np.maximum(evidence.norm_lower - moved, 0.0),
        samples=draws,
        alpha=closeness.attacked_alpha,
    )
    return np.asarray(cosine_from_displacement(evidence.fact(Length).sampled, moved + closeness.radius + other))
