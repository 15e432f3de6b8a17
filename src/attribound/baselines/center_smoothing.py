"""Center smoothing (Kumar & Goldstein 2021), written from its paper, as a peer with its own guarantee.

The output at a point is not a mean but a *centre*: of n draws, the one whose ball over half of them is smallest.
Statement and proof: docs/theory/center-smoothing.md.
"""

import math
from dataclasses import dataclass
from typing import Literal, final

import numpy as np
import torch
from scipy import special
from torch import Tensor

from attribound import checks as check
from attribound.errors import ArgumentError
from attribound.fields.base import Field
from attribound.fields.exchange import Call
from attribound.fields.families import Around, Family
from attribound.fields.rows import check_evaluating
from attribound.noise import Gaussian
from attribound.randomness import Purpose, stream
from attribound.sampling.witness import Witness

Distance = Literal["angle", "cosine"]

_GAMMA = {"angle": 1.0, "cosine": 2.0}
"""The angle is a metric; 1 - cos is half a squared chord, and (a + b)^2 <= 2 (a^2 + b^2)."""

_LARGEST = {"angle": math.pi, "cosine": 2.0}
_ROWS = 256


@final
@dataclass(frozen=True)
class CenterBound:
    """What center smoothing proves at one epsilon.

    Attributes:
        epsilon: size of the change.
        distance: upper bound on the distance between the centres; None if it abstains.
        cosine: the lower bound on the cosine that follows; -1.0 if nothing does.
        radius: R.
    """

    epsilon: float
    distance: float | None
    cosine: float
    radius: float | None


def center_smoothing(
    field: Field,
    x: Tensor,
    target: int,
    *,
    sigma: float,
    epsilons: tuple[float, ...],
    distance: Distance = "angle",
    samples: int = 1000,
    certify_samples: int = 4096,
    alpha: float = 1e-3,
    seed: int = 0,
) -> list[CenterBound]:
    """Certify the centre of a field's draws at several epsilons.

    Args:
        field: any attribution; only the direction of its maps counts.
        x: one input.
        target: class to explain.
        sigma: deviation of the Gaussian noise.
        epsilons: sizes of the change; alpha is shared among them by one DKW band.
        distance: "angle", or "cosine" for 1 - cos with the relaxed triangle inequality.
        samples: n, draws that a centre is made of.
        certify_samples: m, fresh draws that bound the quantile.
        alpha: probability that a statement is false.
        seed: seed of the draws; a centre at another point needs another seed.
    """
    if distance not in _GAMMA:
        raise ArgumentError(f"expected `distance` angle or cosine, got {distance!r}")
    check.positive("sigma", sigma)
    for epsilon in epsilons:
        check.non_negative("epsilon", epsilon)
    family, noise, witness = Around(field, target, x), Gaussian(sigma), Witness(seed)
    check_evaluating(field.model)
    first = _directions(family, noise, int(check.count("samples", samples)), seed, 0, witness)
    centre = first[_medoid(first)]
    count = int(check.count("certify_samples", certify_samples))
    fresh = _directions(family, noise, count, seed, 1, witness)
    witness.check()
    distances = np.sort(_measure(fresh @ centre, distance))
    delta = math.sqrt(math.log(3 / float(check.alpha(alpha))) / (2 * samples))
    band = math.sqrt(math.log(3 / alpha) / (2 * certify_samples))
    return [_bound(float(epsilon), sigma, distances, delta, band, distance) for epsilon in epsilons]


def _bound(
    epsilon: float, sigma: float, distances: np.ndarray, delta: float, band: float, distance: Distance
) -> CenterBound:
    level = 1.0 if delta >= 0.5 else float(special.ndtr(special.ndtri(0.5 + delta) + epsilon / sigma)) + band
    if level >= 1.0:
        return CenterBound(epsilon, None, -1.0, None)
    radius = float(distances[math.ceil(level * len(distances)) - 1])
    gamma = _GAMMA[distance]
    most = min(gamma * (1 + 2 * gamma) * radius, _LARGEST[distance])
    cosine = math.cos(most) if distance == "angle" else 1 - most
    return CenterBound(epsilon, most, max(cosine, -1.0), radius)


def _directions(family: Family, noise: Gaussian, count: int, seed: int, part: int, witness: Witness) -> Tensor:
    """(count, d) unit maps of noisy copies; a zero map stays zero and is far from everything."""
    generator = stream(Purpose.BASELINE, seed, part, 0, family.x.device)
    rows = []
    for start in range(0, count, _ROWS):
        shifts = family.noise(noise, min(_ROWS, count - start), generator)
        call = Call.make(family, shifts, generator, outputs=False)
        witness.see(call)
        rows.append(call.answer.maps)
    return torch.nn.functional.normalize(torch.cat(rows).flatten(1).double(), dim=1)


def _medoid(directions: Tensor) -> int:
    """The draw whose ball over half of all draws is smallest."""
    half = math.ceil(len(directions) / 2)
    return int((directions @ directions.T).topk(half, dim=1).values[:, -1].argmax())


def _measure(cosines: Tensor, distance: Distance) -> np.ndarray:
    values = cosines.clamp(-1, 1).cpu().numpy()
    return np.arccos(values) if distance == "angle" else 1 - values
