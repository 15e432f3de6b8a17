"""Data sets that fit in memory."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import final

import numpy as np
import torch
from torch import Tensor

from attribound.codebook import Codebook
from attribound.data.base import Dataset
from attribound.errors import ArgumentError, StoredDataError

_MOST_CLASSES = 1_000_000


@final
class Arrays(Dataset):
    """Inputs and labels as tensors; bytes stay bytes until they are asked for."""

    def __init__(
        self,
        images: Tensor,
        labels: Tensor | None,
        name: str = "arrays",
        classes: Sequence[str] = (),
        *,
        features: Sequence[str] = (),
        scale: Tensor | None = None,
        codebook: Codebook | None = None,
        problems: Mapping[int, str] | None = None,
        exact: np.ndarray | None = None,
        names: Sequence[str] = (),
    ) -> None:
        """Wrap tensors.

        Args:
            images: (N, ...) inputs; unsigned bytes mean 255 levels of a pixel in [0, 1].
            labels: (N,) classes; None for inputs without labels.
            name: what to call the set.
            classes: names of the classes; their numbers if empty.
            features: names of the numbers of one input.
            scale: (F,) units of the features.
            codebook: what is known about the features.
            problems: what is wrong with inputs that cannot be used, told when they are asked for.
            exact: (N, F) rows of a table in float64, as they are written.
            names: of the inputs, one each; empty if they have none.
        """
        if labels is not None and len(images) != len(labels):
            raise ArgumentError(f"{name} has {len(images)} inputs but {len(labels)} labels")
        self._images, self._labels = images, None if labels is None else labels.long()
        self._problems, self._exact, self._names = dict(problems or {}), exact, tuple(names)
        self.name, self.features, self.scale = name, tuple(features), scale
        self.codebook = codebook or Codebook()
        self.classes = tuple(classes) or _numbers(self._labels, name)

    def __len__(self) -> int:
        return len(self._images)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one input."""
        return tuple(self._images.shape[1:])

    def input(self, index: int) -> Tensor:
        """One input."""
        return self.images([index])[0]

    def label(self, index: int) -> int | None:
        """Its class."""
        return None if self._labels is None else int(self._labels[index])

    def images(self, indices: Sequence[int] | Tensor) -> Tensor:
        """Inputs of these indices."""
        chosen = torch.as_tensor(indices)
        for index in chosen.tolist() if self._problems else ():
            self._check(index)
        return _pixels(self._images[chosen])

    def row(self, index: int) -> np.ndarray:
        """(F,) one row in float64."""
        self._check(index)
        return super().row(index) if self._exact is None else np.asarray(self._exact[index], np.float64)

    def rows(self) -> np.ndarray:
        """(N, F) all rows in float64; NaN where a cell is missing or has a problem."""
        return self._images.flatten(1).double().numpy() if self._exact is None else self._exact

    def _check(self, index: int) -> None:
        if index % len(self) in self._problems:
            raise StoredDataError(f"item {index} of {self.name}: {self._problems[index % len(self)]}")

    def labels(self, indices: Sequence[int] | Tensor) -> Tensor:
        """Labels of these indices."""
        if self._labels is None:
            raise StoredDataError(f"{self.name} has no labels")
        return self._labels[torch.as_tensor(indices)]

    def input_name(self, index: int) -> str:
        """Its name, where inputs have any."""
        return self._names[index] if self._names else ""

    def sha256(self) -> str:
        """Fingerprint of inputs and labels."""
        digest = hashlib.sha256(repr((tuple(self._images.shape), self._images.dtype)).encode())
        for values in (self._images, self._labels):
            if values is not None:
                digest.update(values.contiguous().numpy().data)
        return digest.hexdigest()


def _numbers(labels: Tensor | None, name: str) -> tuple[str, ...]:
    count = int(labels.max()) + 1 if labels is not None and len(labels) else 0
    if count > _MOST_CLASSES:
        raise ArgumentError(f"{name} has the label {count - 1}, expected less than {_MOST_CLASSES:,}")
    return tuple(str(label) for label in range(count))


def _pixels(images: Tensor) -> Tensor:
    return images.float().div_(255) if images.dtype == torch.uint8 else images.float()
