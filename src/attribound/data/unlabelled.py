"""Data whose labels are not the model's: better no label than one that makes every accuracy zero."""

from typing import final

import numpy as np
from torch import Tensor

from attribound.data.base import Dataset


def label_doubt(data: Dataset, classes: int) -> str:
    """A line about labels that cannot be a model's numbers; empty if they may be.

    Args:
        data: the data.
        classes: how many classes the model has.
    """
    if not data.alphabetical and (beyond := labels_beyond(data, classes)):
        return f"{beyond}: labels and accuracy are unknown"
    if not data.alphabetical or not data.classes or len(data.classes) == classes:
        return ""
    return (
        f"{data.name} has {len(data.classes)} folders in alphabetical order and the model {classes} classes: labels "
        f"and accuracy are unknown; number the folders as 967_espresso, or put a classes.json beside them"
    )


def labels_beyond(data: Dataset, classes: int) -> str:
    """A line about the first label that no class of a model has; empty if there is none."""
    labels = [(item, label) for item in range(len(data)) if (label := data.label(item)) is not None]
    item, beyond = next(((item, label) for item, label in labels if label >= classes), (None, 0))
    if item is None:
        return ""
    hint = " (do the labels begin at 1?)" if min(label for _, label in labels) == 1 else ""
    return f"item {item} of {data.name} has the label {beyond}, the model the classes 0..{classes - 1}{hint}"


@final
class Unlabelled(Dataset):
    """The inputs of other data, without labels and names of classes."""

    classes = ()

    def __init__(self, base: Dataset) -> None:
        self.base, self.name, self.features, self.scale = base, base.name, base.features, base.scale
        self.codebook = base.codebook

    def __len__(self) -> int:
        return len(self.base)

    @property
    def shape(self) -> tuple[int, ...]:
        """The other's."""
        return self.base.shape

    def input(self, index: int) -> Tensor:
        """The other's."""
        return self.base.input(index)

    def row(self, index: int) -> np.ndarray:
        """The other's."""
        return self.base.row(index)

    def label(self, index: int) -> None:
        """None has one."""

    def input_name(self, index: int) -> str:
        """The other's."""
        return self.base.input_name(index)

    def sha256(self) -> str:
        """The other's."""
        return self.base.sha256()
