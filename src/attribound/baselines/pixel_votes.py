"""Certified pixels as Anani et al. (ICML 2025) certify them, written from their paper, on our own draws.

Their algorithm is that of certified segmentation (Fischer et al. 2021). The first `guess` draws decide each cell's
side; the others test it: at one fixed probability `needed`, by an exact binomial test at alpha / cells (Bonferroni).
With Gaussian noise the one radius is sigma Phi^-1(needed). Each fraction has an alpha of its own.

What differs from `Certificate.cells`: one radius chosen beforehand instead of one per cell; the first draws are not
tested; a statement about one fraction, and nothing about the map's cosine or the prediction under the same alpha. What
differs from their code: here the cells are those of the map itself, as it is (theirs are its absolute values, enlarged
to the input's pixels, so that a 7 x 7 map is tested 50,176 times), and ties at the threshold vote for no side.
"""

from dataclasses import dataclass
from itertools import islice
from typing import final

import numpy as np
import numpy.typing as npt

from attribound import checks as check
from attribound.bounds.proportions import proportion_lower
from attribound.checks import FloatArray
from attribound.errors import ArgumentError
from attribound.fields.families import Family
from attribound.sampling.draws import AtPoint
from attribound.sampling.votes import mark_cells
from attribound.sampling.witness import Witness


@final
@dataclass(frozen=True)
class PixelMarks:
    """What the peer's method certifies.

    Attributes:
        marks: (m,) +1 certified hot, -1 certified cold, 0 abstained.
        radius: no change up to this moves a marked cell to the other side.
    """

    marks: npt.NDArray[np.int8]
    radius: float

    @property
    def certified(self) -> float:
        """The share of cells that are marked."""
        return float(np.mean(self.marks != 0))


def pixel_votes(
    family: Family,
    design: AtPoint,
    fraction: float,
    *,
    samples: int = 100,
    guess: int = 10,
    needed: float = 0.75,
    alpha: float = 1e-3,
    planned: int | None = None,
) -> PixelMarks:
    """Certify cells the peer's way; the defaults are theirs.

    Args:
        family: the maps.
        design: noise and seed: with those of a certificate, the draws are its first ones.
        fraction: which part of the map is called hot.
        samples: n, draws in all.
        guess: n0, draws that decide each cell's side.
        needed: tau, the probability that is tested.
        alpha: probability that any mark is false.
        planned: samples of the certificate whose draws are to be used; its chunks follow from it.
    """
    samples, guess = int(check.count("samples", samples)), int(check.count("guess", guess))
    if guess >= samples or samples > (planned or samples):
        raise ArgumentError(f"expected `guess` < `samples` <= `planned`, got {guess}, {samples} and {planned}")
    if family.field.block > 1:
        raise ArgumentError(f"expected one noisy input per map, got {family.field.block} with a random path")
    maps, rows = [], design.chunk_rows(family, planned or samples)
    witness = Witness(design.seed, design.item)
    for draws in islice(design.rounds(family, planned or samples, witness), -(-samples // rows)):
        maps.append(draws.maps.numpy())
    witness.check()
    marks = certify_pixels(np.concatenate(maps)[:samples], fraction, guess=guess, needed=needed, alpha=alpha)
    return PixelMarks(marks, float(design.noise.law(family.origin.numel()).majority_radius(needed)))


def certify_pixels(
    maps: FloatArray, fraction: float, *, guess: int = 10, needed: float = 0.75, alpha: float = 1e-3
) -> npt.NDArray[np.int8]:
    """The same from maps that were drawn.

    Args:
        maps: (n, m) flat maps of independent noisy inputs.
        fraction: which part of the map is called hot.
        guess: n0, draws that decide each cell's side.
        needed: tau, the probability that is tested.
        alpha: probability that any mark is false.

    Returns:
        (m,) +1 certified hot, -1 certified cold, 0 abstained.
    """
    votes = mark_cells(maps, fraction)
    sides = np.where((votes[:guess] > 0).sum(axis=0) * 2 > guess, 1, -1)
    agreed = (votes[guess:] == sides).sum(axis=0)
    # The exact test rejects "at most `needed`" just where the Clopper-Pearson bound is above it.
    lower = proportion_lower(agreed, len(votes) - guess, float(check.alpha(alpha)) / votes.shape[1])
    proved = lower > float(check.fraction("needed", needed))
    return np.where(proved, sides, 0).astype(np.int8)
