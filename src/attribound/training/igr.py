"""IGR (Wang & Kong 2022): TRADES, and integrated gradients that keep their direction."""

from dataclasses import dataclass, field
from typing import final

import torch
from torch import Tensor, nn

from attribound.training.attributions import angle_loss, integrated_gradients, true_logit
from attribound.training.base import Objective
from attribound.training.trades import Trades


@final
@dataclass(frozen=True)
class Igr(Objective):
    """The TRADES loss + weight * (1 - cos(IG(x), IG(x~))), at the x~ of TRADES; baseline black.

    Attributes:
        trades: the first part, with its attack.
        weight: lambda of the paper.
        path_steps: points on the path of the integrated gradients.
    """

    trades: Trades = field(default_factory=Trades)
    weight: float = 1.0
    path_steps: int = 4

    def loss(self, model: nn.Module, inputs: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        """TRADES plus the turn of the integrated gradients."""
        return self.terms(model, inputs, self.trades.attack(model, inputs, generator), labels)

    def terms(self, model: nn.Module, inputs: Tensor, attacked: Tensor, labels: Tensor) -> Tensor:
        """The loss for given attacked inputs."""
        score = true_logit(model, labels)
        maps = [integrated_gradients(score, torch.zeros_like(x), x, self.path_steps) for x in (inputs, attacked)]
        return self.trades.terms(model, inputs, attacked, labels) + self.weight * angle_loss(*maps)
