"""Table 2: the paper's T on MNIST, and what is true."""

from collections.abc import Mapping
from typing import final

from attribound.bounds import cosine_bound, cosine_bound_paper
from attribound.paper.published import TABLE2
from attribound.paper.settings import Settings
from attribound.paper.survey import (
    EPSILONS,
    LIMIT,
    Survey,
    SurveyTable,
    explained,
    formula_columns,
    read_otherwise,
    readings,
    useful_radius,
)
from attribound.paper.table import Table, certified, median, number


@final
class Table2(SurveyTable):
    """The bound by model, radius and epsilon."""

    name, title = "table2", "Table 2: the paper's lower bound T on MNIST, and what is proved"

    def shown(self, settings: Settings, surveys: Mapping[tuple[str, float], Survey]) -> Table:
        """One row per epsilon, model and radius."""
        rows = [
            _row(settings, epsilon, name, radius, value, surveys[name, radius])
            for epsilon in EPSILONS
            for name in self.models(settings)
            for radius, value in settings.beside(TABLE2.get((name, epsilon)))
        ]
        columns = [
            "epsilon",
            "model",
            "r",
            "paper's T",
            *formula_columns(settings),
            "moved p",
            "tight bound",
            "certified",
        ]
        return Table(self.title, [*columns, "note"], rows, _notes(settings, next(iter(surveys.values()))))


def _row(
    settings: Settings, epsilon: float, name: str, radius: float, printed: float | None, survey: Survey
) -> list[str]:
    moved = float(survey.law.moved_fraction(epsilon))
    note = (
        "more than c <= M allows"
        if printed is not None and printed > cosine_bound_paper(LIMIT, LIMIT, moved) + 5e-5
        else ""
    )
    if epsilon >= 2 * radius:
        note = "the balls do not meet"
    formula = [number(median(survey.cosine_paper(epsilon, reading))) for reading in readings(settings)]
    tight = certified(median(cosine_bound(survey.norm_lower, LIMIT, moved)))
    sound = certified(median(survey.cosine(epsilon)))
    return [f"{epsilon:g}", name, f"{radius:g}", number(printed), *formula, f"{moved:.6f}", tight, sound, note]


def _notes(settings: Settings, survey: Survey) -> list[str]:
    radii = ", ".join(f"{useful_radius(epsilon, survey.law.dim):.2f} for epsilon {epsilon:g}" for epsilon in EPSILONS)
    return [
        f"Medians over {len(survey.norm)} images; {explained(settings)}; M = 1 by construction (the paper does not "
        f"say what its M was); {settings.samples} draws, alpha {settings.alpha:g} per image.",
        "-1 means: nothing can be said. p is the part of the noise that moves; the tight bound needs 2 p < c / M.",
        f"Even with c = M the tight bound says something only from these radii on: {radii}.",
        *read_otherwise(settings),
    ]
