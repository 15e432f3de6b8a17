"""Any attribution method of Captum as a field. The only file that knows Captum."""

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any, Self, final

import numpy as np
import torch
from captum.attr import Attribution
from torch import Tensor, nn

from attribound.errors import FieldError
from attribound.fields.base import Field, Model


@final
class Captum(Field):
    """Adapter: `Captum(captum.attr.InputXGradient(model))`, further arguments go to `attribute`.

    A stochastic method (GradientShap, methods under NoiseTunnel) is a *random field*: each draw takes fresh
    randomness, independent of the noise, and the smoothed map is the mean over both. The bounds hold for that mean.
    Captum draws from the global generators; they are seeded from the given generator and put back afterwards.
    Rows of one batch must not influence each other, which holds for Captum's methods on a model in evaluation mode.
    """

    output = "logit"

    def __init__(self, method: Attribution, /, **arguments: Any) -> None:
        if not isinstance(method, Attribution):
            raise FieldError(f"expected a captum.attr method, got {type(method).__name__}")
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
        points = inputs.detach().requires_grad_(True)
        with _seeded(generator), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Setting forward, backward hooks and attributes")
            values = self.method.attribute(points, target=target, **self.arguments)
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
