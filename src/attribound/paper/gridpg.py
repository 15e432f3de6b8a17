"""GridPG: do smoothed maps point at the right cell of a grid of images, and do the cells that are *proved* hot?"""

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, final

import torch

from attribound.attacks.view import View
from attribound.bounds.laws import LAWS
from attribound.certification.certifier import Certifier
from attribound.fields import GradCAM, IntegratedGradients, Unit
from attribound.fields.base import forward
from attribound.fields.families import noisy
from attribound.metrics import certified_grid_pointing_game, grid_pointing_game, make_grid
from attribound.noise import Gaussian, Noise, NoiseOf, UniformBall
from attribound.paper.experiment import Experiment, Numbers, Piece
from attribound.paper.published import GRIDPG
from attribound.paper.settings import OF_LOGITS, OF_PROBABILITIES, Settings, predicted
from attribound.paper.table import Table, kept, mean_interval, number
from attribound.randomness import Purpose, stream
from attribound.sampling import Around

SIGMA = 0.1
RADIUS, BALL = math.sqrt(3) * SIGMA, "uniform, r = sqrt(3) sigma"
"""The ball that the paper pairs with a Gaussian (figure 1)."""
MODEL = "cifar10-resnet20"
HOT, EPSILON = 0.25, 0.05
"""One cell of a 2 x 2 grid is a quarter of the map: the hottest quarter is what should lie in it."""
_VOTES = 64
"""Draws of a certificate for each draw of a smoothed IG, which takes 16 gradients of a larger map."""
PATH, ROWS = 16, 4
"""Points on IG's path; points that go through the model at once."""
FEWER = 4
"""Few draws blur a map, which pulls GridPG to chance: it is measured with a fourth of the draws too."""


@final
class GridPg(Experiment):
    """2 x 2 grids of images of different predicted classes."""

    name, title = "gridpg", "GridPG of IG, Gaussian and uniformly smoothed IG"
    data, items, samples, quick_items, quick_samples = "photos?size=32", 20, 16, 1, 2

    def pieces(self, settings: Settings) -> dict[str | int, Piece]:
        """All grids, smoothed; with the paper's ball too, or, for the shipped model, certified: else too expensive."""
        about = settings.about(settings.model or MODEL, sigma=SIGMA)
        if settings.method == "ig-random":
            about |= {**settings.explains, "items": None, "radius": RADIUS, "fewer": FEWER}
            return {number: _grid_piece(settings, about, number) for number in range(settings.items)}
        smoothed = Piece(self.name, about, lambda: _measure(settings, _noises))
        if settings.model is not None:
            ball = Piece("ball", {**about, "radius": RADIUS}, lambda: _measure(settings, _ball))
            return {self.name: smoothed, "ball": ball}
        proved = {**about, "hot": HOT, "epsilon": EPSILON, "draws": _VOTES * settings.samples}
        return {self.name: smoothed, "certified": Piece("certified", proved, lambda: _certify(settings))}

    def table(self, settings: Settings, numbers: Numbers) -> Table:
        """Mean share of positive attribution in the right cell."""
        shares = _joined(numbers) if settings.method == "ig-random" else numbers[self.name] | numbers.get("ball", {})
        rows = [[name, mean_interval(_by_grid(values)), number(GRIDPG.get(name))] for name, values in shares.items()]
        network = Path(settings.model or MODEL).stem
        notes = [
            f"{len(shares['IG']) // 4} grids of four images of {settings.source} (no two of one predicted class, "
            "where there are enough), each explained for each of its four classes; chance gives 0.25. "
            f"The paper: 5,000 ImageNet images. Here: {network}, {settings.samples} draws. +-: half of the 95 % "
            "interval of the mean over grids (Student's t).",
            f"Gaussian sigma {SIGMA:g}; the ball has the same energy. The paper does not say which radius it took.",
            *(
                f"{name} - IG on the same maps: {mean_interval(_by_grid(_difference(shares[name], shares['IG'])))}."
                for name in shares
                if name != "IG"
            ),
        ]
        if (proved := numbers.get("certified")) is not None:
            rows, notes = [*rows, *_proved_rows(proved)], [*notes, _proved_note(settings, proved)]
        if settings.method == "ig-random":
            notes = [*notes, _RANDOM]
        explained = OF_LOGITS if settings.output == "logit" else OF_PROBABILITIES
        return Table(self.title, ["map", "ours", "paper's"], rows, [*notes, explained])


_RANDOM = (
    f"Each draw of the noise takes one of {PATH} points of the path: the mean over noise and path is the smoothed map. "
    f"Few draws blur a map, which pulls GridPG to chance: compare the rows with 1/{FEWER} of the draws. IG itself and "
    f"the small ball, which adds hardly any noise to a pixel, take {PATH} points."
)


def _grid_piece(settings: Settings, about: dict[str, Any], item: int) -> Piece:
    """One grid with one point of the path per draw: a piece of its own, so that more grids can follow."""
    return Piece(f"grid{item}", {**about, "grid": item}, lambda: _measure_random(settings, item))


def _joined(numbers: Numbers) -> dict[str, list[float]]:
    """The shares of all grids by map; data may have fewer grids than were asked for."""
    grids = [grid for grid in numbers.values() if grid]
    return {name: [share for grid in grids for share in grid[name]] for name in grids[0]}


def _by_grid(values: list[float]) -> list[float]:
    """The mean of each grid's four maps: grids are independent, maps of one grid are not."""
    return [statistics.mean(values[start : start + 4]) for start in range(0, len(values), 4)]


def _difference(one: list[float], two: list[float]) -> list[float]:
    return [a - b for a, b in zip(one, two, strict=True)]


def _proved_rows(proved: dict[str, list[float]]) -> list[list[str]]:
    names = {"Grad-CAM, gaussian": "smoothed", "Grad-CAM, proved hot": "proved"}
    return [[name, mean_interval(_by_grid(proved[key])), number(None)] for name, key in names.items()]


def _proved_note(settings: Settings, proved: dict[str, list[float]]) -> str:
    return (
        f"Grad-CAM (not in the paper): {_VOTES * settings.samples:,} draws of the same Gaussian noise, alpha "
        f"{settings.alpha:g} per map. Proved hot: the share of the cells proved to stay among the hottest "
        f"{100 * HOT:g} % under every change up to {EPSILON:g} that lie in the right cell of the grid; of all "
        f"cells {100 * statistics.mean(proved['decided']):.0f} % are proved hot or cold, and "
        f"{sum(count == 0 for count in proved['hot'])} of {len(proved['hot'])} maps have no proved hot cell (they "
        "count as 0)."
    )


def _measure(settings: Settings, noises: Callable[[int], Mapping[str, Noise | None]]) -> dict[str, list[float]]:
    network = settings.network(settings.model or MODEL)
    field = IntegratedGradients(network, steps=16)
    shares: dict[str, list[float]] = defaultdict(list)
    for item, images in enumerate(_grids(settings, network)):
        grid = make_grid(images)
        for position, image in enumerate(images):
            target = predicted(network, image)
            for name, noise in noises(grid.numel()).items():
                view = View(Around(field, target, grid), noise, settings.samples)
                values = view.map(stream(Purpose.FIGURE, settings.seed, item)).view_as(grid)
                shares[name].append(grid_pointing_game(values, position, 2))
    return {name: kept(values) for name, values in shares.items()}


def _measure_random(settings: Settings, item: int) -> dict[str, list[float]]:
    """As `_measure`, with one point of the path per draw; the four classes of a grid share draws and forward passes."""
    network = settings.network(settings.model or MODEL)
    grids = _grids(replace(settings, items=item + 1), network)
    if item >= len(grids):
        return {}
    grid, targets = make_grid(grids[item]), [predicted(network, image) for image in grids[item]]
    shares: dict[str, list[float]] = {}
    for name, noise in {**_noises(grid.numel()), **_ball(grid.numel())}.items():
        draws = PATH * (max(settings.samples // PATH, 1) if name in LAWS else 1)
        generator = stream(Purpose.FIGURE, settings.seed, item)
        total = torch.zeros(len(targets), *grid.shape, dtype=torch.float64)
        for done, part in _integrands(settings, network, grid, targets, noise, draws, generator):
            total += part
            if done == draws or (done * FEWER == draws and done % PATH == 0):
                label = name if done == draws else f"{name}, 1/{FEWER} of the draws"
                shares[label] = kept(grid_pointing_game(one, place, 2) for place, one in enumerate(total))
    return shares


def _integrands(
    settings: Settings,
    network: torch.nn.Module,
    grid: torch.Tensor,
    targets: Sequence[int],
    noise: Noise | None,
    draws: int,
    generator: torch.Generator,
) -> Iterator[tuple[int, torch.Tensor]]:
    """Batch by batch: draws so far, and the batch's sum of z * grad f(t z), one for each target; baseline black."""
    positions = (torch.arange(draws) % PATH + 0.5) / PATH
    for done, part in zip(range(ROWS, draws + ROWS, ROWS), positions.split(ROWS), strict=False):
        moved = grid.expand(len(part), *grid.shape) if noise is None else noisy(grid, noise, len(part), generator)
        points = (part.view(-1, 1, 1, 1) * moved).requires_grad_(True)
        logits = forward(network, points).double()
        outputs = logits if settings.output == "logit" else logits.softmax(dim=1)
        slopes = [torch.autograd.grad(outputs[:, one].sum(), points, retain_graph=True)[0] for one in targets]
        yield done, torch.stack([(moved * slope).double().sum(dim=0) for slope in slopes])


def _certify(settings: Settings) -> dict[str, list[float]]:
    """Per grid and class: GridPG of the smoothed Grad-CAM, certified GridPG, shares of decided and proved hot cells."""
    network = settings.network(settings.model or MODEL)
    samples, numbers = _VOTES * settings.samples, []
    certifier = Certifier(
        Unit(GradCAM(network)),
        noise=Gaussian(SIGMA),
        samples=samples,
        alpha=settings.alpha,
        cells=(HOT,),
    )
    for item, images in enumerate(_grids(settings, network)):
        for position, image in enumerate(images):
            target = predicted(network, image)
            certificate = certifier(make_grid(images), target, seed=settings.seed, item=4 * item + position)
            marks = certificate.cells(HOT, EPSILON)
            numbers.append(
                {
                    "smoothed": grid_pointing_game(torch.as_tensor(certificate.map), position, 2),
                    "proved": certified_grid_pointing_game(marks, position, 2),
                    "decided": float((marks != 0).mean()),
                    "hot": float((marks > 0).mean()),
                }
            )
    return {key: kept(one[key] for one in numbers) for key in numbers[0]}


def _noises(dim: int) -> dict[str, Noise | None]:
    return {"IG": None, **{kind: NoiseOf(law, law.value_of(SIGMA, dim)) for kind, law in LAWS.items()}}


def _ball(dim: int) -> dict[str, Noise]:
    """The paper's: its deviation per pixel is SIGMA in one dimension, far less in `dim`."""
    return {BALL: UniformBall(RADIUS)}


def _grids(settings: Settings, network: torch.nn.Module) -> list[torch.Tensor]:
    """Groups of four images with four different predicted classes where the data allow it."""
    data = settings.dataset()
    waiting: dict[int, torch.Tensor] = {}
    grids: list[torch.Tensor] = []
    for index in data.order(settings.seed):
        image = data.input(index)
        waiting.setdefault(predicted(network, image), image)
        if len(waiting) == 4:
            grids.append(torch.stack(list(waiting.values())))
            waiting = {}
        if len(grids) == settings.items:
            return grids
    return grids or [replace(settings, items=4).images()]
