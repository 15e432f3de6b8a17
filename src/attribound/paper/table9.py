"""Table 9: the smallest radius, by the paper's formula and by an honest search."""

import math
from collections.abc import Mapping
from typing import final

import numpy as np

from attribound.bounds import shift_size
from attribound.bounds.paper import largest_moved_fraction_paper
from attribound.paper.published import TABLE9, TABLE9_CIFAR10
from attribound.paper.settings import CERTIFIED, OURS, Settings
from attribound.paper.survey import (
    COSINES,
    EPSILONS,
    LIMIT,
    UNIT,
    Survey,
    SurveyTable,
    explained,
    formula_columns,
    read_otherwise,
    readings,
)
from attribound.paper.table import Table, median, number

HALF = 0.5
_CIFAR10 = "Table 9: the smallest smoothing radius on CIFAR-10"


@final
class Table9(SurveyTable):
    """The smallest of seven radii whose certificate passes, with alpha shared among them."""

    name, title = "table9", "Table 9: the smallest smoothing radius on MNIST"
    samples = 512
    radii, sharing = (3.5, 14.0, 21.0, 28.0, 42.0, 56.0, 70.0), True
    networks = {**CERTIFIED, "Ours": OURS}  # noqa: RUF012

    def shown(self, settings: Settings, surveys: Mapping[tuple[str, float], Survey]) -> Table:
        """One row per T, model and epsilon."""
        radii, rows = settings.some(self.radii), []
        table, title = (TABLE9_CIFAR10, _CIFAR10) if settings.on_cifar10 else (TABLE9, self.title)
        for cosine in reversed(COSINES):
            for name in self.models(settings):
                tried = {radius: surveys[name, radius] for radius in radii}
                for epsilon, printed in zip(EPSILONS, table.get((name, cosine), (None, None)), strict=True):
                    start = [f"{cosine:g}", name, f"{epsilon:g}", number(printed)]
                    rows.append([*start, *_searched(settings, tried, cosine, epsilon)])
        columns = ["T", "model", "epsilon", "paper's r", *formula_columns(settings), "smallest r that certifies half"]
        count, dim = len(next(iter(surveys.values())).norm), next(iter(surveys.values())).law.dim
        notes = [
            f"{count} images; {explained(settings)}; {settings.samples} draws per radius, "
            f"alpha {settings.alpha:g} shared among the radii {', '.join(f'{r:g}' for r in radii)}; the norm "
            "is measured anew at each.",
            "The paper's formula takes the norm at one radius (here 3.5) as if it did not change. In it r is "
            "proportional to epsilon; the paper's MNIST rows are not.",
            f"{_ours(self.models(settings))}Radius r is a deviation of r / {math.sqrt(dim + 2):.0f} per pixel.",
            *read_otherwise(settings),
        ]
        return Table(title, [*columns, "images certified there"], rows, notes)


def _ours(models: Mapping[str, str]) -> str:
    return f"Ours: {models['Ours']}, trained with noise for consistency. " if "Ours" in models else ""


def _searched(settings: Settings, tried: Mapping[float, Survey], cosine: float, epsilon: float) -> list[str]:
    """The paper's radius, the smallest that certifies half of the images (or the largest), the share it certifies."""
    shares = {radius: float(np.mean(survey.cosine(epsilon) >= cosine)) for radius, survey in tried.items()}
    radius = next((radius for radius, share in shares.items() if share >= HALF), max(tried))
    needed = f"{radius:g}" if shares[radius] >= HALF else f"none up to {radius:g}"
    formulas = [
        number(_smallest_radius(next(iter(tried.values())), cosine, epsilon, one)) for one in readings(settings)
    ]
    return [*formulas, needed, f"{shares[radius]:.0%}"]


def _smallest_radius(survey: Survey, cosine: float, epsilon: float, reading: str = UNIT) -> float:
    """The paper's closed form with the median norm: epsilon / 2 over sqrt(y). NOT a guarantee."""
    moved = largest_moved_fraction_paper(median(survey.ratio(reading)), LIMIT, cosine)
    return float(epsilon / shift_size(moved, radius=1.0, dim=survey.law.dim))


def smallest_radii(
    where: str, surveys: Mapping[str, Survey], published: Mapping[tuple[str, float], tuple[float, float]]
) -> list[str]:
    """Table 9 where another table has its models' surveys: the paper's formula needs them at one radius only."""
    radii = [
        f"{name}, T = {cosine:g}: {_smallest_radius(surveys[name], cosine, EPSILONS[0]):.1f} (the paper: {printed:.1f})"
        for (name, cosine), (printed, _) in published.items()
        if name in surveys
    ]
    formula = f"Table 9 on {where}, epsilon {EPSILONS[0]:g} (twice as much for {EPSILONS[1]:g}), its formula with c"
    return [f"{formula}: {'; '.join(radii)}."] if radii else []
