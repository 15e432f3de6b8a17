"""A model behind a denoiser: together they are just another model, and a certificate holds for it unchanged.

Salman et al. (2020) did this for labels: people keep their network, and the noise is taken out before it.
"""

import json
import math
from pathlib import Path
from typing import Any, final

import torch
from safetensors.torch import load
from torch import Tensor, nn

from attribound.errors import ArgumentError
from attribound.models.denoiser import Denoiser
from attribound.models.load import load_model
from attribound.models.shipped import weights_folder

DENOISERS = ("denoiser-photos", "denoiser-cifar10", "denoiser-cifar10-resnet20")
"""Shipped denoisers; scripts/assets/make_weights.py made them."""


@final
class Denoised(nn.Module):
    """The model's answer to the denoised input; gradients go through both.

    The weights of both and the level are part of the state dict, and so of the hash in every certificate.
    """

    def __init__(self, model: nn.Module, denoiser: nn.Module, sigma: float | None = None) -> None:
        """Put a denoiser in front of a model.

        Args:
            model: inputs (B, C, H, W) to logits (B, K).
            denoiser: ours, or any module from noisy to clean inputs of the same shape.
            sigma: the noise level to tell the denoiser, as `denoiser(inputs, levels)`: that of the certificate's noise.
                Ours needs it; None calls `denoiser(inputs)`.
        """
        super().__init__()
        if sigma is not None and not (math.isfinite(sigma) and sigma > 0):
            raise ArgumentError(f"expected `sigma` > 0, got {sigma}")
        if sigma is None and isinstance(denoiser, Denoiser):
            raise ArgumentError("this denoiser takes the noise level as an input: give `sigma`, that of the noise")
        self.model, self.denoiser = model, denoiser
        self.register_buffer("sigma", None if sigma is None else torch.tensor(float(sigma)))
        self.train(model.training)

    def forward(self, inputs: Tensor) -> Tensor:
        """(B, C, H, W) to logits (B, K)."""
        logits: Tensor = self.model(self.denoise(inputs))
        return logits

    def denoise(self, inputs: Tensor) -> Tensor:
        """What the model gets to see, (B, C, H, W)."""
        level: Tensor | None = self._buffers["sigma"]
        clean: Tensor = self.denoiser(inputs) if level is None else self.denoiser(inputs, level.expand(len(inputs)))
        return clean


def load_denoiser(spec: str) -> nn.Module:
    """A shipped denoiser by name, or a file of our denoiser's weights, in evaluation mode, its weights fixed."""
    if spec not in DENOISERS:
        if Path(spec).suffix != ".safetensors":
            raise ArgumentError(f"expected a denoiser ({', '.join(DENOISERS)}, or FILE.safetensors), got {spec!r}")
        return load_model(spec, "denoiser")
    denoiser = Denoiser()
    # Stored in half precision, used in single: every stored number is exact in both.
    denoiser.load_state_dict(load((weights_folder() / f"{spec}.safetensors").read_bytes()))
    return denoiser.eval().requires_grad_(False)


def denoiser_card(name: str) -> dict[str, Any]:
    """A shipped denoiser's card: data, command, PSNR per noise level on pictures that it did not learn from."""
    if name not in DENOISERS:
        raise ArgumentError(f"expected a shipped denoiser ({', '.join(DENOISERS)}), got {name!r}")
    stored: dict[str, Any] = json.loads((weights_folder() / f"{name}.json").read_text())
    return stored
