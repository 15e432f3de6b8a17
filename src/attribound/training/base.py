"""The interface of training objectives, and of those that attack."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn


class Objective(ABC):
    """A loss of a model on a batch."""

    @abstractmethod
    def loss(self, model: nn.Module, inputs: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        """Mean loss over the batch; all randomness comes from the generator."""


class Attacking(Objective):
    """An objective that first moves the inputs to where the model does badly."""

    @abstractmethod
    def attack(self, model: nn.Module, inputs: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        """The moved inputs, without graph; the model is attacked in evaluation mode."""
