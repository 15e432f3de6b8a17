"""The paper's T at table 2's own radii and epsilons, attacked on trained networks."""

from typing import Any, final

from attribound.attacks.score import SCORE_ALPHA, rescore
from attribound.bounds import cosine_bound_paper
from attribound.estimation import SHARES
from attribound.fields import make_field
from attribound.noise import UniformBall
from attribound.paper.attacking import SCORED, effort, effort_note, worst_attack
from attribound.paper.experiment import Experiment, Found, read_cell
from attribound.paper.published import TABLE2
from attribound.paper.settings import CERTIFIED, MNIST_MODELS, RADII, Cell, Settings, first_images, predicted
from attribound.paper.survey import EPSILONS, evidence, explained, median, survey
from attribound.paper.table import Table, certified, number

ATTACKED = 50
CERTAIN = 16384
"""Draws, none of them seen before, that make sure of a cosine below the paper's T."""


@final
class Attacks(Experiment):
    """The paper's T against attacks on trained networks."""

    name, title = "attacks", "Attacks at the radii and epsilons of table 2: the paper's T on trained networks"

    def cells(self, settings: Settings) -> list[Cell]:
        """The surveys of table 2, and attacks on the first images of each."""
        models = settings.chosen(MNIST_MODELS, *CERTIFIED).values()
        return [
            cell
            for model in models
            for r in _radii(settings)
            for cell in (_survey(settings, model, r), *(_attacked(settings, model, r, e) for e in EPSILONS))
        ]

    def table(self, settings: Settings, found: Found) -> Table:
        """One row per epsilon, model and radius."""
        rows, below, certain = [], 0, 0
        for epsilon in EPSILONS:
            for name, model in settings.chosen(MNIST_MODELS, *CERTIFIED).items():
                printed = dict(zip(RADII, TABLE2.get((name, epsilon), (None,) * len(RADII)), strict=True))
                for radius in _radii(settings):
                    cell = found[_attacked(settings, model, radius, epsilon).key]
                    under = sum(f < t for f, t in zip(cell["found"], cell["paper"], strict=True))
                    below, certain = below + under, certain + sum(cell["certain"])
                    start = [f"{epsilon:g}", name, f"{radius:g}", number(printed[radius])]
                    values = [number(f(cell[key])) for key, f in (("paper", median), ("found", median), ("found", min))]
                    proved = certified(median(cell["certified"]))
                    rows.append([*start, *values, str(under), str(sum(cell["certain"])), proved])
        columns = ["epsilon", "model", "r", "paper's T", "its formula, ours", "median found", "lowest found"]
        notes = [
            f"The first {len(cell['found'])} images; {explained(settings)}. {effort_note(settings)}",
            f"Below T: {below} cases by the estimate ({SCORED} draws); {certain} of them confirmed ({CERTAIN:,} "
            f"draws: the exact cosine's upper limit at confidence 1 - {SCORE_ALPHA:g} is below T at the norm's lower "
            f"limit at confidence 1 - {SHARES['norm'] * settings.alpha:g}, each case by itself).",
        ]
        return Table(self.title, [*columns, "below T", "confirmed", "certified"], rows, notes)


def _radii(settings: Settings) -> tuple[float, ...]:
    return (1.0,) if settings.quick else (1.0, 2.0, 3.5)


def _survey(settings: Settings, model: str, radius: float) -> Cell:
    return survey(settings, model, settings.method, radius)


def _attacked(settings: Settings, model: str, radius: float, epsilon: float) -> Cell:
    surveyed = _survey(settings, model, radius)
    about = {**surveyed.about, **effort(settings), "epsilon": epsilon, "attacked": ATTACKED, "certain": CERTAIN}
    name = f"{surveyed.name.replace('survey', 'attacks')}-e{epsilon:g}"
    return Cell(name, about, lambda: _measure(settings, model, radius, epsilon, surveyed))


def _measure(settings: Settings, model: str, radius: float, epsilon: float, surveyed: Cell) -> dict[str, list[Any]]:
    cell = read_cell(settings.out / "cells" / f"{surveyed.key}.json")
    network = settings.network(model)
    field, noise = make_field(network, settings.method), UniformBall(radius)
    rows = []
    for item, image in enumerate(first_images(settings.dataset(), min(ATTACKED, settings.items))):
        claim, target = evidence(cell, item), predicted(network, image)
        moved = claim.moved_fraction(epsilon)
        worst = worst_attack(settings, field, image, target, radius, epsilon, item)
        paper, least = (cosine_bound_paper(min(cell[key][item], 1.0), 1.0, moved) for key in ("norm", "norm_lower"))
        again = (field, image, worst.delta, target, noise, CERTAIN, settings.seed + settings.items + item)
        certain = worst.cosine < paper and rescore(*again).cosine_most < least
        sound = claim.best(epsilon)[0]
        rows.append({"found": worst.cosine, "paper": paper, "certain": certain, "certified": sound})
    return {key: [row[key] for row in rows] for key in rows[0]}
