"""What holds for the *sampled* maps that people compare: smaller than what holds for the exact ones."""

from collections.abc import Sequence

import numpy as np

from attribound.bounds.confidence import mean_radius
from attribound.bounds.evidence import Evidence
from attribound.bounds.facts import Closeness, Length, Numbers
from attribound.bounds.rules import RULES
from attribound.bounds.rules.base import Rule
from attribound.bounds.rules.curvature import cosine_from_displacement
from attribound.bounds.threshold import largest_argument
from attribound.checks import FloatArray


def visible_cosine(evidence: Evidence, epsilon: Numbers, draws: Numbers, rules: Sequence[Rule] = RULES) -> FloatArray:
    """Lower bound on the cosine between the sampled map and one sampled at the attacked input; -1.0: nothing.

    The exact maps are displaced by so much at most, and each sampled map is within its radius of its exact one. The
    noise at the attacked input is drawn after that input is fixed.

    Args:
        evidence: about one explanation or many.
        epsilon: sizes of the change.
        draws: independent draws behind the other map.
        rules: those that bound the displacement.
    """
    moved = evidence.displacement(epsilon, rules)
    closeness = evidence.fact(Closeness)
    other = mean_radius(
        limit=evidence.limit,
        norm_lower=np.maximum(evidence.norm_lower - moved, 0.0),
        samples=draws,
        alpha=closeness.attacked_alpha,
    )
    return np.asarray(cosine_from_displacement(evidence.fact(Length).sampled, moved + closeness.radius + other))


def max_visible_epsilons(evidence: Evidence, cosines: Sequence[float], draws: int) -> list[float]:
    """For each cosine, the largest epsilon that keeps `visible_cosine` at or above it; 0.0 where there is none."""
    reach = evidence.law.reach
    found = largest_argument(
        lambda epsilon: visible_cosine(evidence, epsilon, draws),
        np.array(cosines, np.float64)[:, None],
        np.zeros(1),
        np.full(1, reach),
        1e-12 * reach,
    )
    return [float(one) for one in found[:, 0]]
