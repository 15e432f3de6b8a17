"""How an experiment is run: how much, on what, where to."""

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from torch import Tensor, nn

from attribound.certification import model_hash, predict
from attribound.data import Dataset, open_data
from attribound.models import load_model

MNIST_MODELS = {
    "Standard": "mnist-cnn",
    "IG-NORM": "mnist-cnn-ig-norm",
    "TRADES": "mnist-cnn-trades",
    "IGR": "mnist-cnn-igr",
}
CIFAR_MODELS = {"Standard": "cifar10-resnet20", "Noise": "cifar10-resnet20-noise"}
CERTIFIED = ("Standard", "IG-NORM", "IGR")
"""The models of tables 2, 5, 8 and 9."""
OURS = "mnist-cnn-consistency"
RADII = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5)


@final
@dataclass(frozen=True)
class Settings:
    """The size of an experiment.

    Attributes:
        out: folder of tables, pictures and cells.
        items: images.
        samples: draws per certificate.
        quick: the small version that checks that everything works.
        data: data set; None: the embedded one that fits.
        model: one model instead of the table's own; with `arch` if it is a file.
        arch: its architecture.
        attribution: method; None: the table's own.
        restarts: short attacks per image (table 8, figure 2), beside a long one.
        steps: iterations of the long one.
        alpha: failure probability per certificate.
        seed: seed of everything.
    """

    out: Path
    items: int
    samples: int
    quick: bool = False
    data: str | None = None
    model: str | None = None
    arch: str | None = None
    attribution: str | None = None
    restarts: int = 20
    steps: int = 30
    alpha: float = 1e-3
    seed: int = 0

    def dataset(self, otherwise: str = "mnist-sample") -> Dataset:
        """The chosen data set, or the experiment's own."""
        return open_data(self.data or otherwise)

    def network(self, name: str) -> nn.Module:
        """A model by the table's name for it."""
        return load_model(name, self.arch if name == self.model else None)

    def chosen(self, models: dict[str, str], *names: str) -> dict[str, str]:
        """The table's models, or the one that was asked for."""
        if self.model is not None:
            return {Path(self.model).stem: self.model}
        return {name: models[name] for name in names or models}

    @property
    def method(self) -> str:
        """The attribution: saliency unless asked; the paper's integrated gradients cost sixteen times as much."""
        return self.attribution or "saliency"

    @property
    def radii(self) -> tuple[float, ...]:
        """The paper's radii; three of them in the quick version."""
        return RADII[::3] if self.quick else RADII

    def beside(self, printed: Sequence[float | None] | None) -> list[tuple[float, float | None]]:
        """The chosen radii, each with what the paper prints for it."""
        values = dict(zip(RADII, printed or (None,) * len(RADII), strict=True))
        return [(radius, values[radius]) for radius in self.radii]

    def about(self, model: str | None = None, otherwise: str = "mnist-sample", **constants: Any) -> dict[str, Any]:
        """Everything that a cell follows from: cells of other settings, weights or data are other cells."""
        spec = self.data or otherwise
        return {
            "items": self.items,
            "samples": self.samples,
            "alpha": self.alpha,
            "seed": self.seed,
            "quick": self.quick,
            "model": model,
            "model_sha256": None if model is None else model_hash(self.network(model)),
            "data": spec,
            "data_sha256": open_data(spec).sha256(),
            **constants,
        }


@final
@dataclass(frozen=True)
class Cell:
    """A piece of an experiment that is computed once and kept as JSON.

    Attributes:
        name: what it is, for people.
        about: everything it follows from.
        work: computes it.
    """

    name: str
    about: dict[str, Any]
    work: Callable[[], object]

    @property
    def key(self) -> str:
        """Name of its file: the same only if everything it follows from is the same."""
        digest = hashlib.sha256(json.dumps(self.about, sort_keys=True).encode()).hexdigest()
        return f"{re.sub('[^A-Za-z0-9.-]+', '_', self.name)}-{digest[:12]}"


def first_images(data: Dataset, items: int) -> Tensor:
    """The first images of a data set, stacked."""
    return data.batch(data.order(count=items))[0]


def predicted(model: nn.Module, image: Tensor) -> int:
    """The model's class for one image."""
    return predict(model, image[None])[0][0]
