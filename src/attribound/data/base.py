"""The one interface of data sets: inputs by number, read when asked for."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from attribound.codebook import Codebook
from attribound.errors import StoredDataError


class Dataset(ABC):
    """Inputs with or without labels; pictures have pixels in [0, 1].

    Attributes:
        name: what the user typed to open it.
        classes: names of the classes, label by label; empty if they have no names.
        alphabetical: labels are the places of the classes' names in the alphabet, because nobody says the model's
            numbers.
        features: names of the numbers of one input, for tables; empty otherwise.
        scale: (F,) units of the features, such as their standard deviations, for noise with units; None otherwise.
        codebook: what is known about the features: their titles, units, words; empty otherwise.
    """

    name: str
    classes: tuple[str, ...]
    alphabetical: bool = False
    features: tuple[str, ...] = ()
    scale: Tensor | None = None
    codebook: Codebook = Codebook()

    @property
    def note(self) -> str:
        """What reading does to the inputs, in a line; empty if nothing."""
        return ""

    @abstractmethod
    def __len__(self) -> int:
        """Number of inputs."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Shape of one input, known without reading one."""

    @abstractmethod
    def input(self, index: int) -> Tensor:
        """One input of that shape; raises StoredDataError if it cannot be read."""

    def row(self, index: int) -> np.ndarray:
        """(F,) one input of a table in float64, as it is written; raises StoredDataError if it cannot be read."""
        return np.asarray(self.input(index).flatten().double().numpy())

    @abstractmethod
    def label(self, index: int) -> int | None:
        """Its class, None if it has no label."""

    @abstractmethod
    def sha256(self) -> str:
        """Fingerprint of the whole set."""

    def input_name(self, index: int) -> str:
        """What people call an input: the name of its file, the identifier of its row; empty if it has none."""
        return ""

    def images(self, indices: Sequence[int] | Tensor) -> Tensor:
        """Inputs of these indices, stacked."""
        return torch.stack([self.input(int(index)) for index in indices])

    def labels(self, indices: Sequence[int] | Tensor) -> Tensor:
        """Labels of these indices; raises StoredDataError if one has none."""
        labels: list[int] = []
        for index in indices:
            if (label := self.label(int(index))) is None:
                raise StoredDataError(f"item {int(index)} of {self.name} has no label")
            labels.append(label)
        return torch.tensor(labels)

    def check_labelled(self, what: str) -> None:
        """Raise StoredDataError, saying what needs labels, unless every input has one."""
        missing = [index for index in range(len(self)) if self.label(index) is None]
        if missing:
            which = "it has none" if len(missing) == len(self) else f"item {missing[0]} has none"
            raise StoredDataError(f"{what} needs the class of every input of {self.name}: {which}")

    def batch(self, indices: Sequence[int] | Tensor) -> tuple[Tensor, Tensor]:
        """Inputs and labels of these indices."""
        return self.images(indices), self.labels(indices)

    def order(self, seed: int | None = None, count: int | None = None) -> list[int]:
        """The first `count` indices: as stored, or shuffled by a seed."""
        if seed is None:
            indices = list(range(len(self)))
        else:
            indices = torch.randperm(len(self), generator=torch.Generator().manual_seed(seed)).tolist()
        return indices[:count]
