"""Denoising for a classifier that never saw noise and stays as it is: what it makes of the pictures counts, too.

Squared error alone leaves pictures that look right and are blurred where the classifier looks (Salman et al. 2020 train
with the classifier, too).
"""

from dataclasses import dataclass
from functools import cache
from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional

from attribound.models import Denoised, load_shipped
from attribound.training.base import Objective
from attribound.training.denoise import Denoise


@final
@dataclass(frozen=True)
class Recognised(Objective):
    """Denoising + weight x the classifier's cross-entropy on the denoised pictures.

    Attributes:
        base: the squared error.
        classifier: its shipped name.
        weight: of the cross-entropy.
    """

    base: Denoise
    classifier: str
    weight: float = 0.02

    def loss(self, model: nn.Module, inputs: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        """Both terms, on pictures mirrored or not: a classifier does not know turned ones."""
        mirror = bool(torch.rand((), generator=generator) < 0.5)
        denoised, error = self.base.attempt(model, inputs.flip(3) if mirror else inputs, generator)
        return error + self.weight * functional.cross_entropy(_classifier(self.classifier)(denoised), labels)


@final
@dataclass(frozen=True)
class Behind(Objective):
    """Denoising + weight x any objective of the classifier behind the denoiser, e.g. OneSided: explanations that hold.

    Attributes:
        base: the squared error.
        task: the objective of both together, which brings its own noise.
        classifier: its shipped name.
        sigma: the noise level that the denoiser is told while it serves the classifier.
        weight: of the task.
    """

    base: Denoise
    task: Objective
    classifier: str
    sigma: float
    weight: float = 0.1

    def loss(self, model: nn.Module, inputs: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        """Both terms; each draws its own noise."""
        pair = Denoised(_classifier(self.classifier), model, self.sigma)
        task = self.task.loss(pair, inputs, labels, generator)
        return self.base.attempt(model, inputs, generator)[1] + self.weight * task


@cache
def _classifier(name: str) -> nn.Module:
    return load_shipped(name)
