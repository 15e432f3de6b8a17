"""Table 3: the paper's T on images of ImageNet's size."""

from typing import final

from attribound.bounds import cosine_bound, moved_fraction
from attribound.paper.experiment import Experiment, Found
from attribound.paper.published import TABLE3
from attribound.paper.settings import RADII, Cell, Settings
from attribound.paper.survey import median, paper_ceiling, survey, useful_radius
from attribound.paper.table import Table, certified, number

DIM = 3 * 224 * 224


def photographs(settings: Settings) -> list[Cell]:
    """Surveys of real photographs with the given model; none without."""
    if settings.model is None:
        return []
    return [survey(settings, settings.model, settings.attribution or "saliency", r, "photos") for r in RADII]


@final
class Table3(Experiment):
    """In closed form for c = M; with --model also measured on real photographs."""

    name, title = "table3", "Table 3: the paper's lower bound T on ImageNet-sized inputs"
    items, samples, quick_items, quick_samples = 4, 64, 1, 2

    def cells(self, settings: Settings) -> list[Cell]:
        """Surveys only where there is a model."""
        return photographs(settings)

    def table(self, settings: Settings, found: Found) -> Table:
        """One row per epsilon and radius."""
        surveys = {cell["radius"]: cell for cell in found.values()}
        rows = []
        for epsilon, printed in TABLE3.items():
            for radius, value in zip(RADII, printed, strict=True):
                moved = moved_fraction(epsilon, radius=radius, dim=DIM)
                norms = surveys[radius]["norm"] if radius in surveys else None
                kappa = "" if norms is None else f"{median(norms):.3f}"
                ceiling, tight = paper_ceiling(moved), cosine_bound(1.0, 1.0, moved)
                cells = [f"{epsilon:g}", f"{radius:g}", number(value), number(ceiling), f"{moved:.6f}"]
                rows.append([*cells, certified(tight), kappa, f"{useful_radius(epsilon, DIM):.1f}"])
        columns = ["epsilon", "r", "paper's T", "its formula at c = M", "p", "tight at c = M", "c / M", "useful from r"]
        notes = [
            "At c = M nothing is left to chance or to the model: the tight bound is -1 in every row, so no certificate "
            "exists at these radii whatever the network.",
            "c / M: median of the unit saliency's norm on real photographs, with --model only.",
        ]
        return Table(self.title, columns, rows, notes)
