"""Explainers of the package shap as fields: `Shap(explainer)`. shap itself is not imported: who has one has it."""

from collections.abc import Callable
from typing import Any, final

import torch
from torch import Tensor

from attribound.errors import FieldError
from attribound.fields.base import Explanation, Field, Target, refuse_graph
from attribound.fields.seeding import seeded
from attribound.models.functions import Scores, called

_DETERMINISTIC = frozenset({"Tree", "Linear", "Exact", "Additive", "GPUTree", "Coalition"})
"""Explainers whose values follow from the row, by their names without "Explainer"; all others may draw."""


@final
class Shap(Field):
    """The values of one of shap's explainers: `Shap(shap.Explainer(predict, background))`.

    Explainers that draw (permutation, kernel, sampling) are random fields: each row is explained alone, with fresh
    randomness, and the smoothed map is the mean over both.
    """

    needs_gradients = False
    explains_scores = False

    def __init__(
        self,
        explainer: Any,
        predict: Callable[[Any], Any] | None = None,
        *,
        missing: bool = False,
        sha256: str = "",
    ) -> None:
        """Wrap an explainer.

        Args:
            explainer: called with rows (B, columns), it returns values (B, columns) or (B, columns, classes).
            predict: rows to scores (B, K), whose largest is the class; None: the explainer's own model.
            missing: rows may have missing cells (NaN), which stay missing under noise.
            sha256: hash of the model's file; without one, nothing pins the model of a record.
        """
        kind = type(explainer).__name__
        if not callable(explainer) or type(explainer).__module__.partition(".")[0] != "shap":
            raise FieldError(f"expected one of shap's explainers, got {kind}: other functions are Function(...)")
        self.model = Scores(predict or _own_model(explainer), sha256=sha256)
        self.name = f"shap-{kind.removesuffix('Explainer')}"
        self.random, self.takes_missing = kind.removesuffix("Explainer") not in _DETERMINISTIC, missing
        self._explainer = explainer

    def explain(
        self, inputs: Tensor, target: Target, *, generator: torch.Generator | None = None, create_graph: bool = False
    ) -> Explanation:
        """The explainer's values."""
        refuse_graph(self, create_graph)
        if not self.random:
            return Explanation(self._values(inputs, target))
        targets = torch.as_tensor(target).expand(len(inputs)).tolist()
        parts = []
        for row, one in zip(inputs.split(1), targets, strict=True):
            with seeded(generator):
                parts.append(self._values(row, one))
        return Explanation(torch.cat(parts))

    def _values(self, inputs: Tensor, target: Target) -> Tensor:
        values = called(self.name, lambda rows: self._explainer(rows).values, inputs, "numpy")
        if values.ndim not in (2, 3) or len(values) != len(inputs):
            raise FieldError(f"expected {self.name} to give one map per row, got shape {tuple(values.shape)}")
        if values.ndim == 2:
            return values.double()
        chosen = torch.as_tensor(target).expand(len(inputs))
        if int(chosen.max()) >= values.shape[2]:
            raise FieldError(f"{self.name} explains {values.shape[2]} classes, not class {int(chosen.max())}")
        return values[torch.arange(len(values)), :, chosen].double()


def _own_model(explainer: Any) -> Callable[[Any], Any]:
    """What the explainer itself explains."""
    model = getattr(explainer, "model", None)
    for known in (model, getattr(model, "predict", None), getattr(model, "f", None)):
        if callable(known):
            return known  # type: ignore[no-any-return]
    raise FieldError(f"expected Shap({type(explainer).__name__}, predict): the explainer does not say what it explains")
