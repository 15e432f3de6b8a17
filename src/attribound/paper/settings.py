"""How an experiment is run: how much, on what, where to."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import final

from torch import Tensor, nn

from attribound.certification import predict
from attribound.data import Dataset, open_data
from attribound.models import load_model

MNIST_MODELS = {
    "Standard": "mnist-cnn",
    "IG-NORM": "mnist-cnn-ig-norm",
    "TRADES": "mnist-cnn-trades",
    "IGR": "mnist-cnn-igr",
}
CIFAR_MODELS = {"Standard": "cifar10-resnet20", "Noise": "cifar10-resnet20-noise"}
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
        restarts: attacks per image.
        steps: iterations per attack.
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
    steps: int = 3
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
    def tag(self) -> str:
        """What distinguishes cells of this size from others."""
        place = (self.data or "").replace("/", "_").replace(":", "_")
        return f"{place}k{self.items}-n{self.samples}-s{self.seed}"


@final
@dataclass(frozen=True)
class Cell:
    """A piece of an experiment that is computed once and kept as JSON."""

    key: str
    work: Callable[[], object]


def first_images(data: Dataset, items: int) -> Tensor:
    """The first images of a data set, stacked."""
    return data.batch(data.order(count=items))[0]


def predicted(model: nn.Module, image: Tensor) -> int:
    """The model's class for one image."""
    return predict(model, image[None])[0][0]
