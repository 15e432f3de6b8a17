"""Objectives of classifiers for a denoiser: whatever they ask is asked of the classifier behind it."""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn

from attribound.models import Denoised
from attribound.training.base import Objective
from attribound.training.denoise import classifier_named


@final
@dataclass(frozen=True)
class Behind(Objective):
    """The base objective of a shipped classifier behind the denoiser; the classifier stays as it is.

    Squared error leaves a picture that looks right, not one that the classifier explains in the same way under every
    draw of noise. With `OneSided` as base, the denoiser learns just that.

    Attributes:
        base: an objective of classifiers.
        classifier: its shipped name.
        sigma: the noise level that the denoiser is told.
    """

    base: Objective
    classifier: str
    sigma: float

    def loss(self, model: nn.Module, inputs: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        """The base objective's loss, with slopes in the denoiser's weights only."""
        both = Denoised(classifier_named(self.classifier), model, self.sigma)
        return self.base.loss(both, inputs, labels, generator)
