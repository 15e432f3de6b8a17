"""How an experiment is run: how much, on what, where to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, final

import torch
from torch import Tensor, nn

from attribound.certification.arguments import look_at
from attribound.data import Dataset, open_data
from attribound.hashes import model_hash
from attribound.models import load_model

MNIST_MODELS = {
    "Standard": "mnist-cnn",
    "IG-NORM": "mnist-cnn-ig-norm",
    "TRADES": "mnist-cnn-trades",
    "IGR": "mnist-cnn-igr",
}
CIFAR_MODELS = {
    "Standard": "cifar10-resnet20",
    "IG-NORM": "cifar10-resnet20-ig-norm",
    "TRADES": "cifar10-resnet20-trades",
    "IGR": "cifar10-resnet20-igr",
    "Noise": "cifar10-resnet20-noise",
    "Ours": "cifar10-resnet20-consistency",
}
CERTIFIED = {name: model for name, model in MNIST_MODELS.items() if name != "TRADES"}
"""The models of tables 2, 5, 8 and 9."""
OURS = "mnist-cnn-consistency"
ADDED = ("Noise", "Ours")
"""Models that tables have beside the paper's."""
RADII = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5)
SAMPLE = "mnist-sample"
OF_LOGITS = "Maps explain the logit of the predicted class (the paper: the softmax)."
"""For the notes of tables that have no other setting."""
OF_PROBABILITIES = "Maps explain the softmax of the predicted class, as in the paper."


@final
@dataclass(frozen=True)
class Settings:
    """The size of an experiment.

    Attributes:
        out: folder of tables, pictures, numbers and runs.
        items: images.
        samples: draws per certificate.
        quick: the small version that checks that everything works.
        data: data set; None: the experiment's own.
        model: one model instead of the table's own; with `arch` if it is a file.
        arch: its architecture.
        attribution: method; None: the table's own.
        output: what is explained, "logit" or "probability".
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
    output: str = "logit"
    restarts: int = 20
    steps: int = 30
    alpha: float = 1e-3
    seed: int = 0

    @property
    def source(self) -> str:
        """The data set as people type it."""
        return self.data or SAMPLE

    def dataset(self) -> Dataset:
        """The data set."""
        return open_data(self.source)

    def images(self) -> Tensor:
        """Its first images, stacked."""
        data = self.dataset()
        return torch.stack([data.input(index) for index in data.order(count=self.items)])

    def network(self, name: str) -> nn.Module:
        """A model by the table's name for it."""
        return load_model(name, self.arch_of(name))

    def arch_of(self, name: str) -> str | None:
        """The architecture of a model, where it is not shipped."""
        return self.arch if name == self.model else None

    def chosen(self, models: Mapping[str, str]) -> Mapping[str, str]:
        """The table's models, those of the same names for CIFAR-10, or the one that was asked for."""
        if self.model is not None:
            return {Path(self.model).stem: self.model}
        return {name: CIFAR_MODELS[name] for name in models} if self.on_cifar10 else models

    @property
    def on_cifar10(self) -> bool:
        """Whether the data are CIFAR-10's."""
        return self.source.startswith("cifar10")

    @property
    def method(self) -> str:
        """The attribution: saliency unless asked; the paper's integrated gradients cost sixteen times as much."""
        return self.attribution or "saliency"

    @property
    def explains(self) -> dict[str, str]:
        """What surveys explain, for their names: the output is left out where it is the logit."""
        output = {} if self.output == "logit" else {"output": self.output}
        return {"attribution": self.method, **output}

    def beside(self, printed: Sequence[float | None] | None) -> list[tuple[float, float | None]]:
        """The paper's radii, each with what it prints for it."""
        values = zip(RADII, printed or (None,) * len(RADII), strict=True)
        return [(radius, value) for radius, value in values if radius in self.some(RADII)]

    def some(self, radii: tuple[float, ...]) -> tuple[float, ...]:
        """Radii; every third in the quick version."""
        return radii[::3] if self.quick else radii

    def about(self, model: str | None = None, **constants: Any) -> dict[str, Any]:
        """Everything that a piece follows from: pieces of other settings, weights or data are other pieces."""
        return {
            "items": self.items,
            "samples": self.samples,
            "alpha": self.alpha,
            "seed": self.seed,
            "model": model,
            "model_sha256": None if model is None else _model_hash(model, self.arch_of(model)),
            "data": self.source,
            "data_sha256": _data_hash(self.source),
            **constants,
        }


@cache
def _model_hash(name: str, arch: str | None) -> str:
    return model_hash(load_model(name, arch))


@cache
def _data_hash(spec: str) -> str:
    return open_data(spec).sha256()


def predicted(model: nn.Module, image: Tensor) -> int:
    """The model's class for one image."""
    return look_at(model, image).prediction
