"""GridPG: do smoothed maps still point at the right cell of a grid of images?"""

import statistics
from typing import Any, final

import torch

from attribound.attacks.view import View
from attribound.fields import IntegratedGradients
from attribound.metrics import grid_pointing_game, make_grid
from attribound.noise import Gaussian, Noise, UniformBall
from attribound.paper.experiment import Experiment, Found
from attribound.paper.published import GRIDPG
from attribound.paper.settings import Cell, Settings, predicted
from attribound.paper.table import Table, number

SIGMA = 0.1
MODEL, DATA = "cifar10-resnet20", "photos?size=32"


@final
class GridPg(Experiment):
    """2 x 2 grids of images of different predicted classes."""

    name, title = "gridpg", "GridPG of IG, Gaussian and uniformly smoothed IG"
    items, samples, quick_items, quick_samples = 20, 16, 1, 2

    def cells(self, settings: Settings) -> list[Cell]:
        """All grids."""
        about = settings.about(settings.model or MODEL, DATA, sigma=SIGMA)
        return [Cell("gridpg", about, lambda: _measure(settings))]

    def table(self, settings: Settings, found: Found) -> Table:
        """Mean share of positive attribution in the right cell."""
        cell = found[self.cells(settings)[0].key]
        rows = [[name, number(statistics.mean(cell[name])), number(GRIDPG[name])] for name in GRIDPG]
        notes = [
            f"{len(cell['IG']) // 4} grids of four images of {settings.data or DATA} (no two of one predicted class, "
            "where there are enough), each explained for each of its four classes; chance gives 0.25. "
            f"The paper: 5,000 ImageNet images. Here: {settings.model or MODEL}.",
            f"Gaussian sigma {SIGMA:g}; the ball has the same energy. The paper does not say which radius it took.",
        ]
        return Table(self.title, ["map", "ours", "paper's"], rows, notes)


def _measure(settings: Settings) -> dict[str, Any]:
    network = settings.network(settings.model or MODEL)
    field = IntegratedGradients(network, steps=16)
    shares: dict[str, list[float]] = {name: [] for name in GRIDPG}
    for number_, images in enumerate(_grids(settings, network)):
        grid = make_grid(images)
        for position, image in enumerate(images):
            target = predicted(network, image)
            for name, law in _laws(grid.numel()).items():
                generator = torch.Generator().manual_seed(settings.seed + number_)
                values = View(field, target, law, settings.samples).map(grid, generator).view_as(grid)
                shares[name].append(grid_pointing_game(values, position, 2))
    return shares


def _laws(dim: int) -> dict[str, Noise | None]:
    return {"IG": None, "uniform": UniformBall.from_sigma(SIGMA, dim), "gaussian": Gaussian(SIGMA)}


def _grids(settings: Settings, network: torch.nn.Module) -> list[torch.Tensor]:
    """Groups of four images with four different predicted classes where the data allow it."""
    data = settings.dataset(DATA)
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
    return grids or [data.batch(data.order(count=4))[0]]
