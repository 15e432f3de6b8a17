"""Data whose labels are not the model's: better no label than one that makes every accuracy zero."""

from typing import final

from torch import Tensor

from attribound.data.base import Dataset


def label_doubt(data: Dataset, classes: int) -> str:
    """A line about labels that cannot be a model's numbers; empty if they may be.

    Args:
        data: the data.
        classes: how many classes the model has.
    """
    if not data.alphabetical or not data.classes or len(data.classes) == classes:
        return ""
    return (
        f"{data.name} has {len(data.classes)} folders in alphabetical order and the model {classes} classes: labels "
        f"and accuracy are unknown; number the folders as 967_espresso, or put a classes.json beside them"
    )


@final
class Unlabelled(Dataset):
    """The inputs of other data, without labels and names of classes."""

    classes = ()

    def __init__(self, base: Dataset) -> None:
        self.base, self.name, self.features, self.scale = base, base.name, base.features, base.scale

    def __len__(self) -> int:
        return len(self.base)

    @property
    def shape(self) -> tuple[int, ...]:
        """The other's."""
        return self.base.shape

    def image(self, index: int) -> Tensor:
        """The other's."""
        return self.base.image(index)

    def label(self, index: int) -> None:
        """None has one."""

    def sha256(self) -> str:
        """The other's."""
        return self.base.sha256()
