"""Certificates of many images at one radius: what most tables are made of."""

import math
import statistics
from pathlib import Path
from typing import Any

from attribound.bounds import moved_fraction
from attribound.bounds.rules import Evidence
from attribound.certificate import Certificate
from attribound.certification import certify
from attribound.data import Dataset
from attribound.fields import make_field
from attribound.noise import UniformBall
from attribound.paper.settings import Cell, Settings, first_images

COSINES = (0.8, 0.9)
EPSILONS = (0.5, 1.0)


def survey(settings: Settings, model: str, attribution: str, radius: float, otherwise: str = "mnist-sample") -> Cell:
    """The cell with the certificates of a model's images under uniform noise of this radius."""
    about = settings.about(model, otherwise, attribution=attribution, radius=radius)
    name = f"survey-{Path(model).stem}-{attribution}-r{radius:g}"
    return Cell(name, about, lambda: _measure(settings, model, attribution, radius, settings.dataset(otherwise)))


def _measure(settings: Settings, model: str, attribution: str, radius: float, data: Dataset) -> dict[str, Any]:
    field = make_field(settings.network(model), attribution)
    images = first_images(data, settings.items)
    noise = UniformBall(radius)
    found = [
        certify(
            field,
            image,
            noise=noise,
            samples=settings.samples,
            alpha=settings.alpha,
            seed=settings.seed,
            item=item,
        )
        for item, image in enumerate(images)
    ]
    return {
        "dim": images[0].numel(),
        "radius": radius,
        "norm": [one.norm for one in found],
        "norm_lower": [one.norm_lower for one in found],
        "eigenvalue_upper": [one.evidence.eigenvalue_upper for one in found],
        **_answers(found),
    }


def _answers(found: list[Certificate]) -> dict[str, Any]:
    return {
        "cosine": {f"{e:g}": [one.cosine(e) for one in found] for e in EPSILONS},
        "cosine_paper": {f"{e:g}": [one.cosine_paper(e) for one in found] for e in EPSILONS},
        "max_epsilon": {f"{c:g}": [one.max_epsilon(c) for one in found] for c in COSINES},
        "max_epsilon_paper": {f"{c:g}": [one.max_epsilon_paper(c) for one in found] for c in COSINES},
    }


def explained(settings: Settings) -> str:
    """What is smoothed here, and in the paper."""
    return f"unit {settings.method} of the logit (the paper: integrated gradients of the softmax)"


def median(values: list[float]) -> float:
    """The middle one; of two the smaller."""
    return statistics.median_low(values)


def evidence(cell: dict[str, Any], index: int) -> Evidence:
    """What one image's certificate rests on."""
    return Evidence(
        dim=int(cell["dim"]),
        noise_kind="uniform",
        scale=float(cell["radius"]),
        limit=1.0,
        norm_lower=float(cell["norm_lower"][index]),
        eigenvalue_upper=float(cell["eigenvalue_upper"][index]),
        probability_gradient=False,
    )


def useful_radius(epsilon: float, dim: int, kappa: float = 1.0) -> float:
    """The radius from which on the tight bound says anything for a map of relative norm kappa: 2 p < kappa."""
    low, high = epsilon / 2, epsilon
    while 2 * moved_fraction(epsilon, radius=high, dim=dim) >= kappa:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if 2 * moved_fraction(epsilon, radius=middle, dim=dim) < kappa else (middle, high)
    return high


def paper_ceiling(moved: float) -> float:
    """The largest T that the paper's own formula can give: at c = M."""
    return 1 / math.hypot(1, 2 * moved)
