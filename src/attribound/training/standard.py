"""Plain cross-entropy."""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional

from attribound.training.base import Objective


@final
@dataclass(frozen=True)
class Standard(Objective):
    """Cross-entropy of the given inputs."""

    def loss(self, model: nn.Module, inputs: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        """Mean cross-entropy."""
        return functional.cross_entropy(model(inputs), labels)
