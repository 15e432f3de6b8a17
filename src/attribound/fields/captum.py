"""Any attribution method of Captum as a field. The only file that knows Captum."""

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any, Self, final

import numpy as np
import torch
from captum.attr import (
    Attribution,
    Deconvolution,
    DeepLift,
    FeatureAblation,
    FeaturePermutation,
    GradientShap,
    GuidedBackprop,
    InputXGradient,
    IntegratedGradients,
    Occlusion,
    Saliency,
)
from torch import Tensor, nn

from attribound.errors import FieldError
from attribound.fields.base import Field, Model

_ROWS_INDEPENDENT = (
    Deconvolution,
    DeepLift,
    FeatureAblation,
    GradientShap,
    GuidedBackprop,
    InputXGradient,
    IntegratedGradients,
    Occlusion,
    Saliency,
)

BY_NAME: dict[str, type[Attribution]] = {
    "input-x-gradient": InputXGradient,
    "guided-backprop": GuidedBackprop,
    "deconvolution": Deconvolution,
    "deeplift": DeepLift,
    "feature-ablation": FeatureAblation,
}
"""Methods that need nothing but the model, by the name that people type."""


@final
class Captum(Field):
    """Adapter: `Captum(captum.attr.InputXGradient(model))`, further arguments go to `attribute`.

    A stochastic method (GradientShap, methods under NoiseTunnel) is a *random field*: each draw takes fresh
    randomness, independent of the noise, and the smoothed map is the mean over both. The bounds hold for that mean.
    Captum draws from the global generators; they are seeded from the given generator and put back afterwards.

    The bounds need independent draws. Methods known to treat the rows of a batch independently run in batches; all
    others (some share one random permutation among the rows) run row by row, each with its own randomness.
    """

    output = "logit"

    def __init__(self, method: Attribution, /, **arguments: Any) -> None:
        if not isinstance(method, Attribution):
            raise FieldError(f"expected a captum.attr method, got {type(method).__name__}")
        if isinstance(method, FeaturePermutation):
            raise FieldError("FeaturePermutation mixes the rows of a batch: it is not an attribution of one input")
        self.method = method
        self.model: Model = method.forward_func
        self.arguments = arguments
        self.name = f"captum-{type(method).__name__}"

    def attribute(
        self,
        inputs: Tensor,
        target: int,
        *,
        generator: torch.Generator | None = None,
        create_graph: bool = False,
    ) -> Tensor:
        """The method's own attribution of the batch."""
        if create_graph:
            raise FieldError(f"{self.name} cannot be differentiated: use an attack that needs no gradient of it")
        parts = [inputs] if type(self.method) in _ROWS_INDEPENDENT else list(inputs.split(1))
        return torch.cat([self._attribute(part, target, generator) for part in parts])

    def _attribute(self, inputs: Tensor, target: int, generator: torch.Generator | None) -> Tensor:
        points = inputs.detach().requires_grad_(True)
        with _seeded(generator), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Setting forward, backward hooks and attributes")
            try:
                values = self.method.attribute(points, target=target, **self.arguments)
            except (AssertionError, ValueError, TypeError, RuntimeError) as error:
                raise FieldError(f"{self.name} failed: {error}") from error
        if not isinstance(values, Tensor) or values.shape != inputs.shape:
            raise FieldError(f"expected {self.name} to give maps of shape {tuple(inputs.shape)}")
        return values.detach()

    def with_model(self, model: nn.Module) -> Self:
        """Not possible: a Captum method is bound to its model."""
        raise FieldError(f"{self.name} is bound to its model and cannot be moved to another")


@contextlib.contextmanager
def _seeded(generator: torch.Generator | None) -> Iterator[None]:
    """Seed the global generators from ours for the duration, then put them back as they were."""
    if generator is None:
        yield
        return
    seed = int(torch.randint(2**31 - 1, (), generator=generator, device=generator.device))
    kept = np.random.get_state()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        np.random.seed(seed)
        try:
            yield
        finally:
            np.random.set_state(kept)
