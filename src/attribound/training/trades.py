"""TRADES (Zhang et al. 2019): accuracy on clean inputs, agreement with attacked ones."""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional

from attribound.training.base import Attacking
from attribound.training.modes import evaluating
from attribound.training.perturbation import worst_in_ball


@final
@dataclass(frozen=True)
class Trades(Attacking):
    """CE(f(x), y) + beta KL(f(x) || f(x~)), x~ where the second term is largest.

    Attributes:
        beta: weight of the second term.
        epsilon: l2 radius of the attack.
        attack_steps: iterations of the attack.
        step_size: their length.
        attacked_cross_entropy: take CE(f(x~), y) instead, as the paper prints it.
    """

    beta: float = 6.0
    epsilon: float = 1.0
    attack_steps: int = 5
    step_size: float = 0.5
    attacked_cross_entropy: bool = False

    def loss(self, model: nn.Module, inputs: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        """Cross-entropy plus disagreement."""
        return self.terms(model, inputs, self.attack(model, inputs, labels, generator), labels)

    def attack(self, model: nn.Module, inputs: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        """The inputs moved to where the predictions disagree most."""
        with evaluating(model):
            clean = model(inputs).detach()
            return worst_in_ball(
                inputs,
                lambda points: disagreement(clean, model(points)) * len(points),
                epsilon=self.epsilon,
                steps=self.attack_steps,
                step_size=self.step_size,
                generator=generator,
            )

    def terms(self, model: nn.Module, inputs: Tensor, attacked: Tensor, labels: Tensor) -> Tensor:
        """The loss for given attacked inputs."""
        clean, other = model(inputs), model(attacked)
        entropy = functional.cross_entropy(other if self.attacked_cross_entropy else clean, labels)
        return entropy + self.beta * disagreement(clean, other)


def disagreement(clean: Tensor, other: Tensor) -> Tensor:
    """Mean KL(softmax(clean) || softmax(other))."""
    logs = [logits.log_softmax(dim=1) for logits in (other, clean)]
    return functional.kl_div(logs[0], logs[1], reduction="batchmean", log_target=True)
