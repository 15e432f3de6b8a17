"""Figures 1 and 3: an image, its integrated gradients, and smoothed versions."""

import base64
import math
from typing import Any, ClassVar, final

import numpy as np
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d

from attribound.attacks.view import View
from attribound.checks import FloatArray
from attribound.fields import IntegratedGradients
from attribound.noise import Gaussian, Noise, UniformBall
from attribound.paper.experiment import Experiment, Numbers, Piece
from attribound.paper.settings import OF_LOGITS, Settings, predicted
from attribound.paper.table import Table
from attribound.randomness import Purpose, stream
from attribound.report.figures import plots
from attribound.sampling import Around

SIGMA = 0.2
SIDE = 64
"""Larger maps are averaged to this many pixels per side: the picture shows no more."""


class _Pictures(Experiment):
    """Rows of pictures: input, IG, Gaussian smoothed, uniform with the paper's radius, uniform with equal energy."""

    model: ClassVar[str]
    items = 4
    quick_samples = 16

    @final
    def pieces(self, settings: Settings) -> dict[str, Piece]:
        """All maps of the figure."""
        about = settings.about(settings.model or self.model, sigma=SIGMA)
        return {self.name: Piece(self.name, about, lambda: _measure(settings, settings.model or self.model))}

    @final
    def table(self, settings: Settings, numbers: Numbers) -> Table:
        """What the pictures show."""
        rows = [[str(number), str(row["target"])] for number, row in enumerate(numbers[self.name])]
        notes = [
            f"Gaussian sigma {SIGMA:g}. The paper pairs it with a ball of radius sqrt(3) sigma = "
            f"{math.sqrt(3) * SIGMA:.3f}, right for one dimension only: its noise per pixel is far smaller. The last "
            "column has the same energy.",
            OF_LOGITS,
        ]
        return Table(self.title, ["image", "explained class"], rows, notes)

    @final
    def figure(self, settings: Settings, numbers: Numbers) -> plots.Picture:
        """The pictures; the inputs are those of the data set."""
        rows = []
        for image, row in zip(settings.images(), numbers[self.name], strict=True):
            maps = {name: _unpacked(stored) for name, stored in row["maps"].items()}
            rows.append({"input": _small(image), "target": row["target"], "maps": maps})
        return plots.plot_maps(rows)


def _measure(settings: Settings, model: str) -> list[dict[str, Any]]:
    network = settings.network(model)
    field = IntegratedGradients(network, steps=16)
    rows = []
    for item, image in enumerate(settings.images()):
        target = predicted(network, image)
        maps = {}
        for name, noise in _noises(image.numel()).items():
            view = View(Around(field, target, image), noise, settings.samples)
            values = view.map(stream(Purpose.FIGURE, settings.seed, item)).view_as(image)
            maps[name] = _packed(values.sum(dim=0, keepdim=True))
        rows.append({"target": target, "maps": maps})
    return rows


def _noises(dim: int) -> dict[str, Noise | None]:
    return {
        "IG": None,
        "Gaussian": Gaussian(SIGMA),
        "uniform, paper": UniformBall(math.sqrt(3) * SIGMA),
        "uniform, same energy": UniformBall.from_sigma(SIGMA, dim),
    }


def _small(picture: Tensor) -> FloatArray:
    """(C, H, W), at most `SIDE` pixels high and wide."""
    height, width = (min(size, SIDE) for size in picture.shape[1:])
    return np.asarray(adaptive_avg_pool2d(picture.double(), (height, width)).numpy())


def _packed(values: Tensor) -> dict[str, Any]:
    """255 levels, as many as a picture shows."""
    small = _small(values)
    levels = np.round(small / (np.abs(small).max() or 1.0) * 127).astype(np.int8)
    return {"shape": list(small.shape), "levels": base64.b64encode(levels.tobytes()).decode()}


def _unpacked(stored: dict[str, Any]) -> FloatArray:
    levels = np.frombuffer(base64.b64decode(stored["levels"]), dtype=np.int8)
    return levels.reshape(stored["shape"]).astype(np.float64)


@final
class Figure1(_Pictures):
    """Digits."""

    name, title = "figure1", "Figure 1: attributions of digits, plain and smoothed"
    model, samples = "mnist-cnn", 256


@final
class Figure3(_Pictures):
    """Photographs."""

    name, title = "figure3", "Figure 3: attributions of photographs, plain and smoothed"
    data, model, samples = "photos?size=32", "cifar10-resnet20", 64
