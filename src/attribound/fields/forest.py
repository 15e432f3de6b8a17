"""SHAP values of a forest as a field: what `Unit(TreeShap(forest))` certifies."""

from typing import final

import numpy as np
import torch
from torch import Tensor

from attribound.errors import FieldError
from attribound.fields.base import Explanation, Field, Model, Target, refuse_graph
from attribound.forests.shap import TreeShap
from attribound.models.forest import ForestScores, as_logits, rows_of


@final
class ForestField(Field):
    """The library's own SHAP values of a forest's margin, one per column.

    A forest with one margin explains yes by its values, no by their negatives: what speaks for the class is positive.
    Missing cells (NaN) stay missing under noise.
    """

    name = "treeshap"
    needs_gradients = False
    takes_missing = True

    def __init__(self, explainer: TreeShap) -> None:
        self.explainer, self.model = explainer, ForestScores(explainer)
        self.features = tuple(explainer.forest.names)

    def explain(
        self, inputs: Tensor, target: Target, *, generator: torch.Generator | None = None, create_graph: bool = False
    ) -> Explanation:
        """One pass over the trees gives the values and the margins."""
        refuse_graph(self, create_graph)
        values = self.explainer.values(rows_of(inputs))
        chosen = torch.as_tensor(target).expand(len(inputs)).numpy()
        if values.shape[1] == 1:  # what speaks for yes speaks against no
            picked = values[:, 0] * np.where(chosen == 1, 1.0, -1.0)[:, None]
        else:
            picked = values[np.arange(len(values)), chosen]
        maps = torch.from_numpy(picked).to(inputs.device)
        return Explanation(maps, as_logits(self.explainer.scores_from(values), inputs))


def of_model(model: Model) -> ForestField:
    """The field of a forest that was loaded as a model."""
    if isinstance(model, ForestScores):
        return ForestField(model.explainer)
    raise FieldError(f"treeshap explains forests (.json, .ubj, .txt), got {type(model).__name__}")
