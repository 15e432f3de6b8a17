"""SHAP values of a forest as a field: what `Unit(TreeShap(forest))` certifies."""

from typing import final

import numpy as np
import torch
from torch import Tensor, nn

from attribound.fields.base import Explanation, Field, Target, refuse_graph
from attribound.forests.ensemble import FloatArray
from attribound.forests.shap import TreeShap


@final
class ForestScores(nn.Module):
    """The margins of a forest, (B, outputs); one margin is that of a yes or no, whose sign is the class.

    Attributes:
        pinned_sha256: hash of the forest's file.
        feature_names: of the columns, in their order.
    """

    def __init__(self, explainer: TreeShap) -> None:
        super().__init__()
        self._explainer = explainer
        self.pinned_sha256, self.feature_names = explainer.forest.sha256, explainer.forest.names
        self.training = False

    def forward(self, inputs: Tensor) -> Tensor:
        """(B, columns) to (B, K)."""
        return as_logits(self._explainer.scores(rows_of(inputs)), inputs)


@final
class ForestField(Field):
    """The library's own SHAP values of a forest's margin, one per column.

    A forest with one margin has one map, whichever of the two classes is named: what speaks for yes is positive.
    Missing cells (NaN) stay missing under noise.
    """

    name = "treeshap"
    needs_gradients = False
    takes_missing = True

    def __init__(self, explainer: TreeShap) -> None:
        self.explainer, self.model = explainer, ForestScores(explainer)

    def explain(
        self,
        inputs: Tensor,
        target: Target,
        *,
        generator: torch.Generator | None = None,
        create_graph: bool = False,
    ) -> Explanation:
        """One pass over the trees gives the values and the margins."""
        refuse_graph(self, create_graph)
        values = self.explainer.values(rows_of(inputs))
        chosen = torch.as_tensor(target).expand(len(inputs)).numpy() if values.shape[1] > 1 else 0
        maps = torch.from_numpy(values[np.arange(len(values)), chosen]).to(inputs.device)
        return Explanation(maps, as_logits(self.explainer.scores_from(values), inputs))


def rows_of(inputs: Tensor) -> FloatArray:
    """(B, columns) the rows in float64, as the forest compares them."""
    return inputs.detach().flatten(1).double().cpu().numpy()


def as_logits(margins: FloatArray, inputs: Tensor) -> Tensor:
    """(B, K) margins in float64; a yes or no has two classes, as for every model with one logit."""
    found = torch.from_numpy(margins).to(inputs.device)
    return torch.cat([-found / 2, found / 2], dim=1) if found.shape[1] == 1 else found
