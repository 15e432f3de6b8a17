"""Appendix C.1: the paper's interval for the sampled norm, its real coverage, and ours."""

import statistics
from functools import partial
from typing import Any, final

import torch

from attribound.bounds import cosine_bound_paper, norm_interval_paper
from attribound.certification.method import estimate
from attribound.fields import make_field
from attribound.noise import UniformBall
from attribound.paper.experiment import Experiment, Numbers, Piece
from attribound.paper.settings import OF_LOGITS, Settings, predicted
from attribound.paper.table import Table, kept
from attribound.randomness import Purpose
from attribound.sampling import Around, AtPoint, Plan
from attribound.sampling.norm import Norm

MODEL = "mnist-cnn"
ALPHA, RADII, EPSILON = 0.01, (3.5, 14.0), 0.5
REPETITIONS = {False: 5, True: 2}
TRUE = 20
"""The truth comes from this many times as many draws."""


@final
class MonteCarlo(Experiment):
    """How often is the lower end above the truth?"""

    name, title = "montecarlo", "Appendix C.1: Monte Carlo error of the norm at alpha = 0.01"
    items, samples, quick_items, quick_samples = 20, 1000, 1, 200

    def pieces(self, settings: Settings) -> dict[tuple[float, int], Piece]:
        """One per radius and image."""
        return {(radius, item): _piece(settings, radius, item) for radius in RADII for item in range(settings.items)}

    def table(self, settings: Settings, numbers: Numbers) -> Table:
        """Widths and coverage over all images and repetitions."""
        rows = [
            row for r in RADII for row in _rows(r, [value for (radius, _), value in numbers.items() if radius == r])
        ]
        notes = [
            f"{settings.items} images x {REPETITIONS[settings.quick]} repetitions of {settings.samples} draws; "
            f"unit saliency of {settings.model or MODEL}, r is the radius of the ball; T at epsilon {EPSILON:g} by the "
            "paper's formula.",
            f"Coverage: how often the lower end lies below the truth, which comes from {TRUE} times as many draws "
            "(their two halves multiplied, so that it is not biased).",
            "The paper: t2 - t1 at the scale of 1e-4 for 100,000 draws on MNIST (ours is for fewer draws). Its "
            "interval takes the sampled mean for the exact one, which is too long by an amount that falls with their "
            "number and grows with their spread, and ignores covariances between pixels.",
            OF_LOGITS,
        ]
        columns = ["r", "interval", "median t2 - t1", "lower end below the truth", "promised", "share of the norm kept"]
        return Table(self.title, columns, rows, notes)


def _rows(radius: float, images: list[dict[str, list[float]]]) -> list[list[str]]:
    """Lower ends are stored as shares of the truth: up to 1 they are below it."""
    width, paper, ours = ([v for image in images for v in image[key]] for key in ("width", "paper", "ours"))
    below = [f"{statistics.mean(share <= 1 for share in shares):.2f}" for shares in (paper, ours)]
    share = [f"{statistics.median(shares):.1%}" for shares in (paper, ours)]
    return [
        [f"{radius:g}", "paper's (chi-square)", f"{statistics.median(width):.1e}", below[0], "0.995", share[0]],
        [f"{radius:g}", "ours (betting)", "one-sided", below[1], ">= 0.99", share[1]],
    ]


def _piece(settings: Settings, radius: float, item: int) -> Piece:
    about = settings.about(settings.model or MODEL, radius=radius, item=item, repetitions=REPETITIONS[settings.quick])
    return Piece(f"r{radius:g}-{item}", about, partial(_measure, settings, radius, item))


def _measure(settings: Settings, radius: float, item: int) -> dict[str, Any]:
    network, image, noise = settings.network(settings.model or MODEL), settings.images()[item], UniformBall(radius)
    family, count = Around(make_field(network), predicted(network, image), image), settings.samples
    moved = noise.law(image.numel()).moved_fraction(EPSILON)

    def draws(part: int, planned: int) -> torch.Tensor:
        design = AtPoint(noise, settings.seed + part, item, Purpose.FIGURE)
        return torch.cat([chunk.maps for chunk in design.rounds(family, planned)])

    halves = [draws(part, TRUE * count // 2).mean(dim=0) for part in range(2)]
    truth = max(float(halves[0] @ halves[1]), 0.0) ** 0.5
    measured: dict[str, list[float]] = {"width": [], "paper": [], "ours": []}
    for repetition in range(REPETITIONS[settings.quick]):
        sampled = draws(2 + repetition, count)
        mean, variance = sampled.mean(dim=0).numpy(), sampled.var(dim=0).numpy()
        low, high = norm_interval_paper(mean, variance, samples=count, alpha=ALPHA)
        ends = [float(cosine_bound_paper(min(end, 1.0), 1.0, moved)) for end in (low, high)]
        # The norm's statistic alone, as a certificate has it, but with the whole alpha.
        design = AtPoint(noise, settings.seed + repetition)
        found = estimate(family, design, Plan(count, ALPHA), image.shape, [Norm(share=1.0)])
        lower = float(found.evidence.norm_lower)
        for key, value in zip(measured, (ends[1] - ends[0], low / truth, lower / truth), strict=True):
            measured[key].append(value)
    return {key: kept(values) for key, values in measured.items()}
