"""A forest as a model: margins of rows, pinned by its file; no gradients."""

from collections.abc import Sequence
from pathlib import Path
from typing import final

import torch
from torch import Tensor, nn

from attribound.errors import ArgumentError
from attribound.forests.ensemble import FloatArray
from attribound.forests.forest import Forest
from attribound.forests.shap import TreeShap
from attribound.models import outputs

FOREST_SUFFIXES = (".json", ".ubj", ".txt")
"""Of XGBoost's and LightGBM's own files."""


def load_forest(path: Path) -> "ForestScores":
    """The forest of a file; nothing in it is executed."""
    return ForestScores(TreeShap(Forest(path)))


@final
class ForestScores(nn.Module):
    """The margins of a forest, (B, outputs); one margin is that of a yes or no, whose sign is the class.

    Attributes:
        pinned_sha256: hash of the forest's file.
        feature_names: of the columns, in their order; empty if the model was trained without names.
        category_words: by column, its categories in the order of their numbers, where the file names them.
    """

    def __init__(self, explainer: TreeShap) -> None:
        super().__init__()
        self.explainer = explainer
        self.pinned_sha256 = explainer.forest.sha256
        self.feature_names = () if explainer.forest.unnamed else explainer.forest.names
        self.category_words = dict(explainer.forest.words)
        self.training = False

    def forward(self, inputs: Tensor) -> Tensor:
        """(B, columns) to (B, K)."""
        return as_logits(self.explainer.scores(rows_of(inputs)), inputs)


def shap_of(model: object, names: Sequence[str]) -> TreeShap:
    """The SHAP values of a model that is a forest; columns without names take the data's.

    Args:
        model: the model.
        names: the data's columns; empty if they have none.
    """
    if not isinstance(model, ForestScores):
        raise ArgumentError(f"expected a forest (.json, .ubj, .txt), got {type(model).__name__}")
    forest = model.explainer.forest
    if names and len(names) != len(forest.names):
        raise ArgumentError(f"expected the model's {len(forest.names)} columns, got {len(names)} in the data")
    return TreeShap(forest.renamed(names)) if names and forest.unnamed else model.explainer


def rows_of(inputs: Tensor) -> FloatArray:
    """(B, columns) the rows in float64, as the forest compares them."""
    return inputs.detach().flatten(1).double().cpu().numpy()


def as_logits(margins: FloatArray, inputs: Tensor) -> Tensor:
    """(B, K) margins in float64; a yes or no has two classes, as for every model with one logit."""
    return outputs.as_logits(torch.from_numpy(margins).to(inputs.device), len(inputs))
