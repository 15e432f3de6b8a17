"""IGR (Wang & Kong 2022): TRADES, and integrated gradients that keep their direction."""

from dataclasses import dataclass, field
from typing import final

import torch
from torch import Tensor, nn

from attribound.training.attributions import angle_loss, integrated_gradients, true_logit
from attribound.training.base import Attacking
from attribound.training.modes import evaluating
from attribound.training.trades import Trades


@final
@dataclass(frozen=True)
class Igr(Attacking):
    """The TRADES loss + weight * (1 - cos(IG(x), IG(x~))), at the x~ of TRADES; baseline black.

    Attributes:
        trades: the first part, with its attack.
        weight: lambda of the paper.
        path_steps: points on the path of the integrated gradients.
        one_sided: hold IG(x) fixed and count the slope of IG(x~) twice. Cheaper, and not the same training: unlike
            the two draws of `OneSided`, x and x~ do not follow the same law.
    """

    trades: Trades = field(default_factory=Trades)
    weight: float = 1.0
    path_steps: int = 4
    one_sided: bool = False

    def loss(self, model: nn.Module, inputs: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        """TRADES plus the turn of the integrated gradients."""
        return self.terms(model, inputs, self.attack(model, inputs, labels, generator), labels)

    def attack(self, model: nn.Module, inputs: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        """The attack of TRADES."""
        return self.trades.attack(model, inputs, labels, generator)

    def terms(self, model: nn.Module, inputs: Tensor, attacked: Tensor, labels: Tensor) -> Tensor:
        """The loss for given attacked inputs."""
        angle = self.turn(model, inputs, attacked, labels)
        return self.trades.terms(model, inputs, attacked, labels) + self.weight * angle

    def turn(self, model: nn.Module, inputs: Tensor, attacked: Tensor, labels: Tensor) -> Tensor:
        """Mean of 1 - cos(IG(x), IG(x~)); its slope is that of IG(x~) alone, doubled, if one-sided."""
        score, black, points = true_logit(model, labels), torch.zeros_like(inputs), self.path_steps
        with evaluating(model):
            before = integrated_gradients(score, black, inputs, points, graph=not self.one_sided)
            after = integrated_gradients(score, black, attacked, points)
        angle = angle_loss(before, after)
        return 2 * angle - angle.detach() if self.one_sided else angle
