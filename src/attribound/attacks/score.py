"""Score a change afterwards: fresh noise, the true model, and how much of the result chance can explain."""

import math
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from attribound.attacks.view import View
from attribound.bounds.confidence import mean_radius
from attribound.fields.base import Field
from attribound.fields.bounded import Bounded
from attribound.fields.families import Family
from attribound.metrics import cosine_similarity, kendall, top_k_intersection
from attribound.noise import Noise
from attribound.randomness import Purpose, stream

SCORE_ALPHA = 1e-6
"""Probability that `cosine_most` is below the exact cosine: a violation is called only beyond it."""


@final
@dataclass(frozen=True)
class Score:
    """What a change does to a map.

    Attributes:
        cosine: estimate of the exact cosine. Sampled maps are longer than exact ones, which biases a plain cosine
            towards zero; norms are taken from products of independent halves instead.
        cosine_most: the exact cosine is at most this, with probability at least 1 - 1e-6 (bounded fields only).
        before: (m,) the map before.
        after: (m,) the map after.
    """

    cosine: float
    cosine_most: float
    before: Tensor
    after: Tensor

    def top_k(self, k: int) -> float:
        """Share of the k largest features kept."""
        return float(top_k_intersection(self.before[None], self.after[None], k))

    @property
    def kendall(self) -> float:
        """Kendall's tau-b between the maps."""
        return float(kendall(self.before[None], self.after[None]))


Kept = dict[tuple[int, int], list[Tensor]]
"""Maps of the unchanged input, by draws and seed: they are the same for every change."""


def rescore(
    family: Family, changed: Family, noise: Noise | None, samples: int, seed: int, kept: Kept | None = None
) -> Score:
    """The maps before and after a change that is already fixed, from fresh draws; `kept` is for the next change."""
    kept = {} if kept is None else kept
    if (samples, seed) not in kept:
        kept[samples, seed] = _halves(family, noise, samples, seed, 0)
    first, second = kept[samples, seed], _halves(changed, noise, samples, seed, 1)
    before, after = (sum(parts, torch.zeros_like(parts[0])) / len(parts) for parts in (first, second))
    cosine = _cosine(first, second, before, after)
    if noise is None:
        return Score(cosine, cosine, before, after)
    return Score(cosine, _most(family.field, before, after, samples), before, after)


def _halves(family: Family, noise: Noise | None, samples: int, seed: int, side: int) -> list[Tensor]:
    """Two independent means of half the draws each; a plain map has no chance in it and counts once."""
    count = 1 if noise is None else 2
    view = View(family, noise, max(samples // count, 1))
    return [view.map(stream(Purpose.SCORE, seed, side, half, family.x.device)) for half in range(count)]


def _cosine(first: list[Tensor], second: list[Tensor], before: Tensor, after: Tensor) -> float:
    """<h, h~> / sqrt(<h1, h2> <h~1, h~2>), each product unbiased; the plain cosine where a norm is lost in noise."""
    squares = [float(parts[0] @ parts[-1]) for parts in (first, second)]
    if min(squares) <= 0:
        return float(cosine_similarity(before[None], after[None]))
    return max(min(float(before @ after) / math.sqrt(squares[0] * squares[1]), 1.0), -1.0)


def _most(field: Field, before: Tensor, after: Tensor, samples: int) -> float:
    """Largest exact cosine compatible with the sampled maps: each exact map is within a known radius of its mean."""
    if not isinstance(field, Bounded):
        return 1.0
    draws = 2 * max(samples // 2 // field.block, 1)
    radius = mean_radius(limit=field.limit, norm_lower=0.0, samples=draws, alpha=SCORE_ALPHA / 2)
    angle = math.acos(max(min(float(cosine_similarity(before[None], after[None])), 1.0), -1.0))
    for mean in (before, after):
        norm = float(mean.norm())
        angle -= math.asin(min(radius / norm, 1.0)) if norm > radius else math.pi
    return math.cos(max(angle, 0.0))
