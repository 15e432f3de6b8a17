"""Table 2: the paper's T on MNIST, and what is true."""

from typing import final

from attribound.bounds import cosine_bound, moved_fraction
from attribound.paper.experiment import Experiment, Found
from attribound.paper.published import TABLE2
from attribound.paper.settings import CERTIFIED, MNIST_MODELS, Cell, Settings
from attribound.paper.survey import EPSILONS, explained, median, paper_ceiling, survey, useful_radius
from attribound.paper.table import Table, certified, number


@final
class Table2(Experiment):
    """The bound by model, radius and epsilon."""

    name, title = "table2", "Table 2: the paper's lower bound T on MNIST, and what is proved"

    def cells(self, settings: Settings) -> list[Cell]:
        """One survey per model and radius."""
        models = settings.chosen(MNIST_MODELS, *CERTIFIED)
        return [survey(settings, model, settings.method, r) for model in models.values() for r in settings.radii]

    def table(self, settings: Settings, found: Found) -> Table:
        """One row per epsilon, model and radius."""
        rows = []
        for epsilon in EPSILONS:
            for name, model in settings.chosen(MNIST_MODELS, *CERTIFIED).items():
                for radius, value in settings.beside(TABLE2.get((name, epsilon))):
                    cell = found[survey(settings, model, settings.method, radius).key]
                    rows.append(_row(epsilon, name, radius, value, cell))
        columns = [
            "epsilon",
            "model",
            "r",
            "paper's T",
            "its formula, ours",
            "moved p",
            "tight bound",
            "certified",
            "note",
        ]
        return Table(self.title, columns, rows, _notes(settings, cell))


def _row(epsilon: float, name: str, radius: float, printed: float | None, cell: Found) -> list[str]:
    moved = moved_fraction(epsilon, radius=radius, dim=cell["dim"])
    at = f"{epsilon:g}"
    tight = median([cosine_bound(norm, 1.0, moved) for norm in cell["norm_lower"]])
    note = "more than c <= M allows" if printed is not None and printed > paper_ceiling(moved) + 5e-5 else ""
    if epsilon >= 2 * radius:
        note = "the balls do not meet"
    formula = number(median(cell["cosine_paper"][at]))
    sound = certified(median(cell["cosine"][at]))
    return [at, name, f"{radius:g}", number(printed), formula, f"{moved:.6f}", certified(tight), sound, note]


def _notes(settings: Settings, cell: Found) -> list[str]:
    radii = ", ".join(f"{useful_radius(epsilon, cell['dim']):.2f} for epsilon {epsilon:g}" for epsilon in EPSILONS)
    return [
        f"Medians over {len(cell['norm'])} images; {explained(settings)}; M = 1 by construction (the paper does not "
        f"say what its M was); {settings.samples} draws, alpha {settings.alpha:g} per image.",
        "-1 means: nothing can be said. p is the part of the noise that moves; the tight bound needs 2 p < c / M.",
        f"Even with c = M the tight bound says something only from these radii on: {radii}.",
    ]
