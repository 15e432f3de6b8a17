"""Any objective, with batch norm as it will be used."""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from attribound.training.base import Objective
from attribound.training.modes import evaluating


@final
@dataclass(frozen=True)
class FrozenNorm(Objective):
    """The base objective with the statistics of batch norm fixed, for fine-tuning.

    A certificate is about the network in evaluation mode, where rows do not see each other. Fixed statistics train the
    gradients of that network, and statistics of noisy batches do not push out those of clean ones.
    """

    base: Objective

    def loss(self, model: nn.Module, inputs: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        """The base objective's loss; the mode of the layers is put back afterwards."""
        with evaluating(model, _BatchNorm):
            return self.base.loss(model, inputs, labels, generator)
