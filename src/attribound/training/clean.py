"""Any objective, and plain cross-entropy beside it."""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional

from attribound.training.base import Objective


@final
@dataclass(frozen=True)
class WithClean(Objective):
    """The base objective + weight x the cross-entropy of the inputs as they are."""

    base: Objective
    weight: float = 1.0

    def loss(self, model: nn.Module, inputs: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        """Both terms."""
        clean = functional.cross_entropy(model(inputs), labels)
        return self.base.loss(model, inputs, labels, generator) + self.weight * clean
