"""Data as a model takes them: pictures in its size, cells of tables with the words of its categories."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attribound.data.base import Dataset
from attribound.data.cells import Cells
from attribound.data.folder import Folder
from attribound.data.options import parted
from attribound.models.forest import ForestScores
from attribound.models.sizes import only_size, stated_size


class Fitted(NamedTuple):
    """Data that fit a model.

    Attributes:
        spec: what to type for them, with the size.
        data: the data.
        note: what was done to the inputs and why, in a line; empty if nothing.
    """

    spec: str
    data: Dataset
    note: str


def cells_for(model: Any) -> Cells | None:
    """How cells of tables are read: a forest takes missing cells and the words of its categories; None: as numbers."""
    return Cells(missing=True, words=model.explainer.forest.words) if isinstance(model, ForestScores) else None


def scale_for(data: Dataset, model: Any) -> Tensor | None:
    """The units of the features; a forest's categories have none, for there is nothing between two of them."""
    if not isinstance(model, ForestScores) or not any(listed := model.explainer.forest.categorical):
        return data.scale
    scale = torch.ones(len(listed), dtype=torch.float64) if data.scale is None else data.scale.double().flatten()
    return torch.where(torch.tensor(listed), 0.0, scale) if len(scale) == len(listed) else data.scale


def fitted(spec: str, data: Dataset, model: Callable[[Tensor], Any]) -> Fitted:
    """The data in the size that a model says or accepts; in their own, or ImageNet's, if it takes any.

    Args:
        spec: what was typed.
        data: what it opened.
        model: the classifier; pictures of zeros may be put through it.
    """
    if not isinstance(data, Folder) or data.sized:
        return Fitted(spec, data, data.note)
    size, why = wanted_size(model, data.shape[0], data.size)
    chosen = data.resized(size)
    note = chosen.note and f"{chosen.note} ({size} x {size}: {why})"
    return Fitted(f"{spec}{'&' if parted(spec)[1] else '?'}size={size}", chosen, note)


def wanted_size(model: Callable[[Tensor], Any], channels: int, otherwise: int) -> tuple[int, str]:
    """The side of the pictures that a model takes, and how that is known.

    Args:
        model: the classifier.
        channels: of the pictures.
        otherwise: the side if the model takes any.
    """
    if size := stated_size(model):
        return size, "the size that the model states"
    if size := only_size(model, channels):
        return size, "the size that the model accepts"
    return otherwise, "the model states no size"
