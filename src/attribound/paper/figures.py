"""Figures 1 and 3: an image, its integrated gradients, and two smoothed versions."""

import base64
import math
from typing import Any, ClassVar, final

import numpy as np
import torch

from attribound.attacks.view import View
from attribound.fields import IntegratedGradients
from attribound.noise import Gaussian, Noise, UniformBall
from attribound.paper.experiment import Experiment, Found
from attribound.paper.settings import Cell, Settings, first_images, predicted
from attribound.paper.table import Table
from attribound.report import plots

SIGMA = 0.2


class _Pictures(Experiment):
    """Rows of pictures: input, IG, Gaussian smoothed, uniform with the paper's radius, uniform with equal energy."""

    data: ClassVar[str]
    model: ClassVar[str]
    samples = 256
    quick_samples = 16

    @final
    def cells(self, settings: Settings) -> list[Cell]:
        """All maps of the figure."""
        about = settings.about(settings.model or self.model, self.data, sigma=SIGMA)
        return [Cell(self.name, about, lambda: self._measure(settings))]

    def _measure(self, settings: Settings) -> list[dict[str, Any]]:
        network = settings.network(settings.model or self.model)
        field = IntegratedGradients(network, steps=16)
        rows = []
        for image in first_images(settings.dataset(self.data), settings.items):
            target, dim = predicted(network, image), image.numel()
            laws: dict[str, Noise | None] = {
                "IG": None,
                "Gaussian": Gaussian(SIGMA),
                "uniform, paper": UniformBall(math.sqrt(3) * SIGMA),
                "uniform, same energy": UniformBall.from_sigma(SIGMA, dim),
            }
            maps = {
                name: View(field, target, law, settings.samples)
                .map(image, torch.Generator().manual_seed(settings.seed))
                .view_as(image)
                .sum(dim=0)
                for name, law in laws.items()
            }
            rows.append({"input": _packed(image), "target": target, "maps": {k: _packed(v) for k, v in maps.items()}})
        return rows

    @final
    def table(self, settings: Settings, found: Found) -> Table:
        """What the pictures show."""
        rows = [[str(number), str(row["target"])] for number, row in enumerate(found[self.cells(settings)[0].key])]
        notes = [
            f"Gaussian sigma {SIGMA:g}. The paper pairs it with a ball of radius sqrt(3) sigma = "
            f"{math.sqrt(3) * SIGMA:.3f}, right for one dimension only: its noise per pixel is far smaller. The last "
            "column has the same energy.",
        ]
        return Table(self.title, ["image", "explained class"], rows, notes)

    @final
    def figure(self, settings: Settings, found: Found) -> plots.Picture:
        """The pictures."""
        return plots.plot_maps(
            [
                {**row, "input": _unpacked(row["input"]), "maps": {k: _unpacked(v) for k, v in row["maps"].items()}}
                for row in found[self.cells(settings)[0].key]
            ]
        )


def _packed(values: torch.Tensor) -> dict[str, Any]:
    """255 levels, as many as a picture shows."""
    scale = float(values.abs().max()) or 1.0
    levels = (values / scale * 127).round().to(torch.int8)
    return {"scale": scale, "shape": list(values.shape), "levels": base64.b64encode(levels.numpy().tobytes()).decode()}


def _unpacked(stored: dict[str, Any]) -> np.ndarray:
    levels = np.frombuffer(base64.b64decode(stored["levels"]), dtype=np.int8)
    return levels.reshape(stored["shape"]) * np.float64(stored["scale"] / 127)


@final
class Figure1(_Pictures):
    """Digits."""

    name, title = "figure1", "Figure 1: attributions of digits, plain and smoothed"
    data, model = "mnist-sample", "mnist-cnn"
    items = 4


@final
class Figure3(_Pictures):
    """Photographs."""

    name, title = "figure3", "Figure 3: attributions of photographs, plain and smoothed"
    data, model = "photos?size=32", "cifar10-resnet20"
    items, samples = 4, 64
