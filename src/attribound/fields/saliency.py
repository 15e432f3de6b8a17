"""Saliency: the gradient of the explained output with respect to the input."""

from dataclasses import dataclass, replace
from typing import Self, final

import torch
from torch import Tensor, nn

from attribound.fields.base import Field, Model, Output, check_output, gradient, score


@final
@dataclass(frozen=True)
class Saliency(Field):
    """The signed input gradient (Simonyan et al. 2014), of the logit or of the softmax probability.

    The gradient of a probability saturates: its norm spans orders of magnitude, so only `Unit` says much there.

    Attributes:
        model: the classifier.
        output: "logit" or "probability".
        continuous: you state that the output is a locally Lipschitz function of the input and that autograd gives its
            true gradient almost everywhere. True for ordinary networks (convolutions, ReLU, pooling, attention), false
            with rounding, thresholds or detached parts. Only the curvature rule needs it, and is not used without it.
    """

    model: Model
    output: Output = "logit"
    continuous: bool = False
    name = "saliency"

    def __post_init__(self) -> None:
        check_output(self.output)

    def attribute(
        self,
        inputs: Tensor,
        target: int,
        *,
        generator: torch.Generator | None = None,
        create_graph: bool = False,
    ) -> Tensor:
        """One forward and one backward pass."""
        points = inputs if create_graph else inputs.detach().requires_grad_(True)
        return gradient(score(self.model, points, target, self.output), points, create_graph=create_graph)

    def with_model(self, model: nn.Module) -> Self:
        """The same method on another model."""
        return replace(self, model=model)

    @property
    def probability_gradient(self) -> bool:
        """Whether the curvature rule may be used: a probability, stated to be continuous."""
        return self.output == "probability" and self.continuous
