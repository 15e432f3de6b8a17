"""Table 4: center smoothing, in the paper's setting and in fairer ones, beside ours."""

from typing import Any, final

from attribound.baselines import center_smoothing
from attribound.certification import certify
from attribound.fields import make_field
from attribound.noise import Gaussian
from attribound.paper.experiment import Experiment, Found
from attribound.paper.published import TABLE4
from attribound.paper.settings import OURS, Cell, Settings, first_images, predicted
from attribound.paper.survey import median
from attribound.paper.table import Table, certified, number

EPSILONS = tuple(TABLE4)
PAPERS = "mnist-cnn-ig-norm"
CASES = (*((PAPERS, epsilon, (epsilon,)) for epsilon in EPSILONS), (OURS, 0.75, EPSILONS))
"""Model, sigma, epsilons. The paper's h = 1 is read as sigma = epsilon."""


@final
class Table4(Experiment):
    """Bounds on 1 - cos and on the angle."""

    name, title = "table4", "Table 4: center smoothing (Kumar & Goldstein 2021) on saliency maps, and attribound"
    items, samples, quick_samples = 20, 4096, 256

    def cells(self, settings: Settings) -> list[Cell]:
        """One per model and noise level."""
        return [_cell(settings, *case) for case in CASES]

    def table(self, settings: Settings, found: Found) -> Table:
        """One row per case and epsilon."""
        rows = []
        for model, sigma, epsilons in CASES:
            cell = found[_cell(settings, model, sigma, epsilons).key]
            for index, epsilon in enumerate(epsilons):
                printed = TABLE4[epsilon] if model == PAPERS else None
                loose, angle, ours = (
                    median([row[index] for row in cell[kind]]) for kind in ("cosine", "angle", "ours")
                )
                cells = [model, f"{sigma:g}", f"{epsilon:g}", number(printed, 3), str(-float(certified(loose - 1, 3)))]
                rows.append([*cells, *(certified(value, 3) for value in (loose, angle, ours))])
        columns = [
            "model",
            "sigma",
            "epsilon",
            "paper: 1 - cos <=",
            "1 - cos <=, ours",
            "cos >= (gamma 2)",
            "cos >= (angle)",
        ]
        notes = [
            f"Medians over {len(cell['ours'])} images, {settings.samples} draws for every bound (center smoothing "
            f"takes {min(1000, settings.samples // 4)} more to find its centre), alpha {settings.alpha:g}; -1 where it "
            "abstains or says nothing. Written from its paper; proof in docs/theory/center-smoothing.md.",
            "It certifies a centre (one of the draws); attribound certifies the mean. Same noise, same alpha.",
            "The paper follows its setting h = 1, which we read as sigma = epsilon; it does not print more about it.",
        ]
        return Table(self.title, [*columns, "attribound: cos >="], rows, notes)


def _cell(settings: Settings, model: str, sigma: float, epsilons: tuple[float, ...]) -> Cell:
    about = settings.about(model, sigma=sigma, epsilons=epsilons)
    return Cell(f"table4-{model}-{sigma:g}", about, lambda: _measure(settings, model, sigma, epsilons))


def _measure(settings: Settings, model: str, sigma: float, epsilons: tuple[float, ...]) -> dict[str, Any]:
    network = settings.network(model)
    field = make_field(network)
    rows: dict[str, list[list[float]]] = {"cosine": [], "angle": [], "ours": []}
    for item, image in enumerate(first_images(settings.dataset(), settings.items)):
        target = predicted(network, image)
        for kind in ("cosine", "angle"):
            bounds = center_smoothing(
                field,
                image,
                target,
                sigma=sigma,
                epsilons=epsilons,
                distance=kind,
                samples=min(1000, settings.samples // 4),
                certify_samples=settings.samples,
                alpha=settings.alpha,
                seed=settings.seed + item,
            )
            rows[kind].append([one.cosine for one in bounds])
        mine = certify(
            field,
            image,
            target,
            noise=Gaussian(sigma),
            samples=settings.samples,
            alpha=settings.alpha,
            seed=settings.seed,
            item=item,
        )
        rows["ours"].append([mine.cosine(epsilon) for epsilon in epsilons])
    return rows
