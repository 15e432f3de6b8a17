"""Saliency: the gradient of the explained output with respect to the input."""

from typing import final

import torch
from torch import Tensor

from attribound.bounds.facts import ProbabilityGradient
from attribound.fields.base import Explanation, Field, Model, Output, Target, check_output, explained_gradient, forward


@final
class Saliency(Field):
    """The signed input gradient (Simonyan et al. 2014), of the logit or of the softmax probability.

    The gradient of a probability saturates: its norm spans orders of magnitude, so only `Unit` says much there.
    """

    name = "saliency"

    def __init__(self, model: Model, output: Output = "logit", *, continuous: bool = False) -> None:
        """Explain a model.

        Args:
            model: the classifier.
            output: "logit" or "probability".
            continuous: you state that the output is a locally Lipschitz function of the input and that autograd gives
                its true gradient almost everywhere. True for ordinary networks (convolutions, ReLU, pooling,
                attention), false with rounding, thresholds or detached parts. Only the curvature rule needs it, and is
                not used without it.
        """
        check_output(output)
        self.model, self.output = model, output
        self.stated = (ProbabilityGradient(),) if continuous and output == "probability" else ()

    def explain(
        self, inputs: Tensor, target: Target, *, generator: torch.Generator | None = None, create_graph: bool = False
    ) -> Explanation:
        """One forward and one backward pass."""
        points = inputs if create_graph else inputs.detach().requires_grad_(True)
        logits = forward(self.model, points)
        maps = explained_gradient(logits, target, self.output, inputs=points, create_graph=create_graph)
        return Explanation(maps, logits.detach())
