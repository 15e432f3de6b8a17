"""GridPG: do smoothed maps still point at the right cell of a grid of images?"""

import statistics
from dataclasses import replace
from typing import final

import torch

from attribound.attacks.view import View
from attribound.bounds.laws import LAWS
from attribound.fields import IntegratedGradients
from attribound.metrics import grid_pointing_game, make_grid
from attribound.noise import Noise, NoiseOf
from attribound.paper.experiment import Experiment, Numbers, Piece
from attribound.paper.published import GRIDPG
from attribound.paper.settings import Settings, predicted
from attribound.paper.table import Table, kept, number
from attribound.randomness import Purpose, stream

SIGMA = 0.1
MODEL = "cifar10-resnet20"


@final
class GridPg(Experiment):
    """2 x 2 grids of images of different predicted classes."""

    name, title = "gridpg", "GridPG of IG, Gaussian and uniformly smoothed IG"
    data, items, samples, quick_items, quick_samples = "photos?size=32", 20, 16, 1, 2

    def pieces(self, settings: Settings) -> dict[str, Piece]:
        """All grids."""
        about = settings.about(settings.model or MODEL, sigma=SIGMA)
        return {self.name: Piece(self.name, about, lambda: _measure(settings))}

    def table(self, settings: Settings, numbers: Numbers) -> Table:
        """Mean share of positive attribution in the right cell."""
        shares = numbers[self.name]
        rows = [[name, number(statistics.mean(values)), number(GRIDPG[name])] for name, values in shares.items()]
        notes = [
            f"{len(shares['IG']) // 4} grids of four images of {settings.source} (no two of one predicted class, "
            "where there are enough), each explained for each of its four classes; chance gives 0.25. "
            f"The paper: 5,000 ImageNet images. Here: {settings.model or MODEL}.",
            f"Gaussian sigma {SIGMA:g}; the ball has the same energy. The paper does not say which radius it took.",
        ]
        return Table(self.title, ["map", "ours", "paper's"], rows, notes)


def _measure(settings: Settings) -> dict[str, list[float]]:
    network = settings.network(settings.model or MODEL)
    field = IntegratedGradients(network, steps=16)
    shares: dict[str, list[float]] = {name: [] for name in GRIDPG}
    for item, images in enumerate(_grids(settings, network)):
        grid = make_grid(images)
        for position, image in enumerate(images):
            target = predicted(network, image)
            for name, noise in _noises(grid.numel()).items():
                view = View(field, target, noise, settings.samples)
                values = view.map(grid, stream(Purpose.FIGURE, settings.seed, item)).view_as(grid)
                shares[name].append(grid_pointing_game(values, position, 2))
    return {name: kept(values) for name, values in shares.items()}


def _noises(dim: int) -> dict[str, Noise | None]:
    return {"IG": None, **{kind: NoiseOf(law, law.scale_of(SIGMA, dim)) for kind, law in LAWS.items()}}


def _grids(settings: Settings, network: torch.nn.Module) -> list[torch.Tensor]:
    """Groups of four images with four different predicted classes where the data allow it."""
    data = settings.dataset()
    waiting: dict[int, torch.Tensor] = {}
    grids: list[torch.Tensor] = []
    for index in data.order(settings.seed):
        image = data.image(index)
        waiting.setdefault(predicted(network, image), image)
        if len(waiting) == 4:
            grids.append(torch.stack(list(waiting.values())))
            waiting = {}
        if len(grids) == settings.items:
            return grids
    return grids or [replace(settings, items=4).images()]
