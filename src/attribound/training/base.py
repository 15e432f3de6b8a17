"""The one interface of training objectives."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn


class Objective(ABC):
    """A loss of a model on a batch."""

    @abstractmethod
    def loss(self, model: nn.Module, inputs: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        """Mean loss over the batch; all randomness comes from the generator."""
