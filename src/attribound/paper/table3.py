"""Tables 3 and 7: images of ImageNet's size, in closed form for c = M and with --model also measured."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, final

from attribound.bounds import cosine_bound, cosine_bound_paper, max_epsilon, max_epsilon_paper, moved_fraction
from attribound.certificates.record import Record
from attribound.paper.published import TABLE3, TABLE7, TABLE9_IMAGENET
from attribound.paper.settings import RADII, Settings
from attribound.paper.survey import LIMIT, Survey, SurveyTable, explained, useful_radius
from attribound.paper.table import Table, certified, median, number
from attribound.paper.table9 import smallest_radii

DIM = 3 * 224 * 224


class _Photographs(SurveyTable):
    """One row per level (epsilon or T) and radius; the measured columns are empty without a model."""

    data, items, samples, quick_items, quick_samples = "photos", 4, 64, 1, 2
    networks = {}  # noqa: RUF012
    published: ClassVar[Mapping[float, tuple[float | None, ...]]]
    columns: ClassVar[Sequence[str]]
    notes: ClassVar[Sequence[str]]

    @final
    def measure(self, settings: Settings, records: Sequence[Record]) -> list[dict[str, float]]:
        """Nothing else: raw maps of photographs would cost as much as the certificates."""
        return [{} for _ in records]

    @final
    def shown(self, settings: Settings, surveys: Mapping[tuple[str, float], Survey]) -> Table:
        """The paper's values beside the closed forms and what was measured."""
        measured = {radius: survey for (_, radius), survey in surveys.items()}
        rows = [
            [f"{level:g}", f"{radius:g}", number(value), *self.row(level, radius, value, measured.get(radius))]
            for level, values in self.published.items()
            for radius, value in zip(RADII, values, strict=True)
        ]
        notes = [*self.notes, *_measured(settings, surveys), *self.remarks(measured)]
        return Table(self.title, self.columns, rows, notes)

    def remarks(self, measured: Mapping[float, Survey]) -> list[str]:
        """What else follows from the surveys, by radius."""
        return []

    @abstractmethod
    def row(self, level: float, radius: float, printed: float | None, survey: Survey | None) -> list[str]:
        """What stands beside the paper's value."""


def _measured(settings: Settings, surveys: Mapping[tuple[str, float], Survey]) -> list[str]:
    """What was measured, if anything."""
    if settings.model is None:
        return []
    count = len(next(iter(surveys.values())).norm)
    return [
        f"Measured: {Path(settings.model).stem}, {count} photographs of {settings.source}, {explained(settings)}, "
        f"{settings.samples} draws, alpha {settings.alpha:g} (the paper: ResNet-50, 100,000 draws)."
    ]


@final
class Table3(_Photographs):
    """T by epsilon and radius."""

    name, title = "table3", "Table 3: the paper's lower bound T on ImageNet-sized inputs"
    published = TABLE3
    columns = ("epsilon", "r", "paper's T", "its formula at c = M", "p", "tight at c = M", "c / M", "useful from r")
    notes = (
        "The tight bound is -1 in every row even at c = M: at these radii norm, limit and noise alone say nothing, "
        "whatever the network.",
        "c / M: median of the sampled norm of unit maps of real photographs, with --model only; few draws make it too "
        "large, by (1 - c^2) / draws in its square.",
    )

    def row(self, level: float, radius: float, printed: float | None, survey: Survey | None) -> list[str]:
        """Both formulas at c = M."""
        moved = moved_fraction(level, radius=radius, dim=DIM)
        ceiling, tight = cosine_bound_paper(LIMIT, LIMIT, moved), cosine_bound(LIMIT, LIMIT, moved)
        kappa = "" if survey is None else f"{median(survey.norm):.3f}"
        return [number(ceiling), f"{moved:.6f}", certified(tight), kappa, f"{useful_radius(level, DIM):.1f}"]


@final
class Table7(_Photographs):
    """The largest epsilon by T and radius."""

    name, title, file = "table7", "Table 7: the largest epsilon on ImageNet-sized inputs", "table3"
    published = TABLE7
    columns = (
        *("T", "r", "paper's epsilon", "its formula at c = M", "tight at c = M"),
        *("its formula, measured", "certified, measured", "note"),
    )
    notes = (
        "At c = M: the most that the tight theorem can give any network; a ceiling, not a certificate.",
        "The measured columns need --model (attribound data fetch resnet50) and photographs.",
    )

    def row(self, level: float, radius: float, printed: float | None, survey: Survey | None) -> list[str]:
        """Both formulas at c = M, and measured."""
        given = {"norm": LIMIT, "limit": LIMIT, "radius": radius, "dim": DIM}
        formula, tight = max_epsilon_paper(level, **given), max_epsilon(level, **given)
        measured = "" if survey is None else number(median(survey.max_epsilon_paper(level)))
        sound = "" if survey is None else certified(median(survey.max_epsilon(level)))
        note = "more than c <= M allows" if printed is not None and printed > formula + 5e-5 else ""
        return [number(formula), number(tight), measured, sound, note]

    def remarks(self, measured: Mapping[float, Survey]) -> list[str]:
        """Table 9 on ImageNet: it needs the norm at one radius only."""
        surveys = {"Standard": measured[RADII[-1]]} if RADII[-1] in measured else {}
        return smallest_radii(f"ImageNet from r = {RADII[-1]:g}", surveys, TABLE9_IMAGENET)
