"""Table 8 and figure 2: what attacks find at the certified epsilon of either formula, and the gap to every bound."""

from typing import final

from attribound.attacks.score import rescore
from attribound.bounds.paper import cosine_bound_paper
from attribound.fields import make_field
from attribound.noise import UniformBall
from attribound.paper.attacking import SCORED, effort, effort_note, worst_attack
from attribound.paper.experiment import Experiment, Found, read_cell
from attribound.paper.published import TABLE8
from attribound.paper.settings import CERTIFIED, MNIST_MODELS, Cell, Settings, first_images, predicted
from attribound.paper.survey import evidence, explained, median, survey
from attribound.paper.table import Table, certified, number
from attribound.report import plots

FIGURE_RADII = (1.5, 2.0, 2.5)
TIGHTEST = 200
COSINE = "0.8"


@final
class Table8(Experiment):
    """Empirical cosine at the certified epsilon for T = 0.8, by the paper's formula and by the sound one."""

    name, title = "table8", "Table 8: cosine found by attacks at the epsilon allowed for T = 0.8, by either formula"

    def cells(self, settings: Settings) -> list[Cell]:
        """A survey and its attacks per model and radius."""
        models = settings.chosen(MNIST_MODELS, *CERTIFIED).values()
        return [cell for model in models for r in settings.radii for cell in attacked(settings, model, r)]

    def table(self, settings: Settings, found: Found) -> Table:
        """One row per model and radius, and the violations."""
        rows, cells = [], []
        for name, model in settings.chosen(MNIST_MODELS, *CERTIFIED).items():
            for radius, value in settings.beside(TABLE8.get(name)):
                cell = found[attacked(settings, model, radius)[1].key]
                cells.append(cell)
                rows.append([name, f"{radius:g}", number(value), *_columns(cell)])
        columns = ["model", "r", "paper's cosine"]
        columns += ["epsilon, its formula", "median found", "lowest", "certified there"]
        columns += ["epsilon, sound", "median found", "lowest"]
        return Table(self.title, columns, rows, _notes(settings, cells))


def _columns(cell: Found) -> list[str]:
    columns = [number(median(cell["epsilon"])), number(median(cell["found"])), number(min(cell["found"]))]
    columns.append(certified(median(cell["certified"])))
    columns.append(certified(median(cell["epsilon_sound"])))
    return [*columns, number(median(cell["found_sound"])), number(min(cell["found_sound"]))]


def _notes(settings: Settings, cells: list[Found]) -> list[str]:
    attacks = (settings.restarts + 1) * sum(len(cell["found"]) for cell in cells)
    sound = sum(f < c for cell in cells for f, c in zip(cell["found"], cell["certified"], strict=True))
    sound += sum(f < float(COSINE) for cell in cells for f in cell["found_sound"])
    paper = sum(f < c for cell in cells for f, c in zip(cell["found"], cell["paper"], strict=True))
    return [
        f"{settings.items} images; {explained(settings)}. {effort_note(settings)} {attacks:,} attacks in all; the "
        "worst change, scaled, is tried at the sound epsilon too.",
        f"The cosine found (estimated from {SCORED} fresh draws) lay below the sound bound {sound} times, and below "
        f"the paper's {paper} times. `attribound paper attacks` and `counterexamples` show where its formula fails.",
        "A sound epsilon of 0 means that nothing is certified at this cosine.",
    ]


@final
class Figure2(Experiment):
    """The gap between bound and attack, sorted, for the images where it is smallest."""

    name, title = "figure2", "Figure 2: gap between the cosine found by attacks and the bounds (IGR)"

    def cells(self, settings: Settings) -> list[Cell]:
        """The cells of table 8 for IGR at three radii."""
        return [cell for r in FIGURE_RADII for cell in attacked(settings, _igr(settings), r)]

    def table(self, settings: Settings, found: Found) -> Table:
        """Smallest and median gap by radius."""
        rows = []
        for radius in FIGURE_RADII:
            sound, paper = _gaps(found[attacked(settings, _igr(settings), radius)[1].key])
            cells = [number(sound[0]), number(median(sound)), number(paper[0]), number(median(paper))]
            rows.append([f"{radius:g}", *cells])
        columns = ["r", "smallest gap, sound", "median gap, sound", "smallest gap, paper's", "median gap, paper's"]
        notes = [
            f"At the epsilon that the paper's formula allows for T = {COSINE}; {explained(settings)}; of "
            f"{settings.items} images the {min(TIGHTEST, settings.items)} with the smallest gaps of each kind. "
            "The paper: the 200 smallest of 10,000 images of CIFAR-10."
        ]
        return Table(self.title, columns, rows, notes)

    def figure(self, settings: Settings, found: Found) -> plots.Picture:
        """Sorted gaps, one panel per radius."""
        panels = {f"r = {r:g}": _gaps(found[attacked(settings, _igr(settings), r)[1].key]) for r in FIGURE_RADII}
        return plots.plot_gaps(panels)


def _igr(settings: Settings) -> str:
    return settings.model or MNIST_MODELS["IGR"]


def _gaps(cell: Found) -> tuple[list[float], list[float]]:
    sound = sorted(f - c for f, c in zip(cell["found"], cell["certified"], strict=True))[:TIGHTEST]
    paper = sorted(f - c for f, c in zip(cell["found"], cell["paper"], strict=True))[:TIGHTEST]
    return sound, paper


def attacked(settings: Settings, model: str, radius: float) -> tuple[Cell, Cell]:
    """The survey of a model at a radius, and the attacks on it."""
    first = survey(settings, model, settings.method, radius)
    name = first.name.replace("survey", "attacked")
    return first, Cell(name, {**first.about, **effort(settings)}, lambda: _attack(settings, model, radius, first))


def _attack(settings: Settings, model: str, radius: float, surveyed: Cell) -> dict[str, list[float]]:
    cell = read_cell(settings.out / "cells" / f"{surveyed.key}.json")
    network = settings.network(model)
    field, noise = make_field(network, settings.method), UniformBall(radius)
    rows: list[dict[str, float]] = []
    for item, image in enumerate(first_images(settings.dataset(), settings.items)):
        claim, seed = evidence(cell, item), settings.seed + item
        epsilon, smaller = (cell[kind][COSINE][item] for kind in ("max_epsilon_paper", "max_epsilon"))
        target = predicted(network, image)
        worst = worst_attack(settings, field, image, target, radius, epsilon, item)
        scaled = worst.delta * (smaller / epsilon)
        rows.append(
            {
                "epsilon": epsilon,
                "found": worst.cosine,
                "certified": claim.best(epsilon)[0],
                "paper": cosine_bound_paper(min(cell["norm"][item], 1.0), 1.0, claim.moved_fraction(epsilon)),
                "epsilon_sound": smaller,
                "found_sound": rescore(field, image, scaled, target, noise, SCORED, seed).cosine,
            }
        )
    return {key: [row[key] for row in rows] for key in rows[0]}
