"""The one interface of data sets: inputs by number, read when asked for."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor


class Dataset(ABC):
    """Labelled inputs, pixels in [0, 1].

    Attributes:
        name: what the user typed to open it.
        classes: names of the classes, label by label.
    """

    name: str
    classes: tuple[str, ...]

    @abstractmethod
    def __len__(self) -> int:
        """Number of inputs."""

    @abstractmethod
    def image(self, index: int) -> Tensor:
        """One input, (C, H, W) or (F,); raises StoredDataError if it cannot be read."""

    @abstractmethod
    def label(self, index: int) -> int:
        """Its class."""

    @abstractmethod
    def sha256(self) -> str:
        """Fingerprint of the whole set."""

    def batch(self, indices: Sequence[int] | Tensor) -> tuple[Tensor, Tensor]:
        """Inputs and labels of these indices, stacked."""
        chosen = [int(index) for index in indices]
        return torch.stack([self.image(i) for i in chosen]), torch.tensor([self.label(i) for i in chosen])

    def order(self, seed: int | None = None, count: int | None = None) -> list[int]:
        """The first `count` indices: as stored, or shuffled by a seed."""
        if seed is None:
            indices = list(range(len(self)))
        else:
            indices = torch.randperm(len(self), generator=torch.Generator().manual_seed(seed)).tolist()
        return indices[:count]
