"""Data sets that fit in memory."""

import hashlib
from collections.abc import Sequence
from typing import final

import torch
from torch import Tensor

from attribound.data.base import Dataset
from attribound.errors import ArgumentError

_MOST_CLASSES = 1_000_000


@final
class Arrays(Dataset):
    """Inputs and labels as tensors; bytes stay bytes until they are asked for."""

    def __init__(self, images: Tensor, labels: Tensor, name: str = "arrays", classes: Sequence[str] = ()) -> None:
        """Wrap tensors.

        Args:
            images: (N, ...) inputs; unsigned bytes mean 255 levels of a pixel in [0, 1].
            labels: (N,) classes.
            name: what to call the set.
            classes: names of the classes; their numbers if empty.
        """
        if len(images) != len(labels):
            raise ArgumentError(f"{name} has {len(images)} inputs but {len(labels)} labels")
        self._images, self._labels = images, labels.long()
        self.name = name
        count = int(self._labels.max()) + 1 if len(labels) else 0
        if count > _MOST_CLASSES:
            raise ArgumentError(f"{name} has the label {count - 1}, expected less than {_MOST_CLASSES:,}")
        self.classes = tuple(classes) or tuple(str(label) for label in range(count))

    def __len__(self) -> int:
        return len(self._images)

    def image(self, index: int) -> Tensor:
        """One input."""
        return _pixels(self._images[index])

    def label(self, index: int) -> int:
        """Its class."""
        return int(self._labels[index])

    def batch(self, indices: Sequence[int] | Tensor) -> tuple[Tensor, Tensor]:
        """Inputs and labels of these indices."""
        chosen = torch.as_tensor(indices)
        return _pixels(self._images[chosen]), self._labels[chosen]

    def sha256(self) -> str:
        """Fingerprint of inputs and labels."""
        digest = hashlib.sha256(repr((tuple(self._images.shape), self._images.dtype)).encode())
        for values in (self._images, self._labels):
            digest.update(values.contiguous().numpy().data)
        return digest.hexdigest()


def _pixels(images: Tensor) -> Tensor:
    return images.float().div_(255) if images.dtype == torch.uint8 else images.float()
