"""The one interface of attribution methods: a field maps inputs to vectors of the same shape."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal, Self

import torch
from torch import Tensor, nn

from attribound.errors import ArgumentError, FieldError

Model = Callable[[Tensor], Tensor]
Output = Literal["logit", "probability"]


class Field(ABC):
    """An attribution method with its model: g(input, target), one vector per row of a batch.

    Attributes:
        model: the classifier, a batch of inputs to logits (B, K).
        name: the method's name, as it stands in records.
        output: what is explained, "logit" or "probability".
        cost: model gradients per row, so that batches can be sized.
        block: rows whose mean is one draw for the bounds (more than 1 only for a randomised path).
    """

    model: Model
    name: str
    output: Output
    cost: int = 1
    block: int = 1

    @abstractmethod
    def attribute(
        self,
        inputs: Tensor,
        target: int,
        *,
        generator: torch.Generator | None = None,
        create_graph: bool = False,
    ) -> Tensor:
        """Attributions of a batch.

        Args:
            inputs: (B, ...) points.
            target: the class that is explained.
            generator: source of randomness of a random field; deterministic fields ignore it.
            create_graph: keep the result differentiable with respect to `inputs` (attacks need it).

        Returns:
            A tensor of the shape of `inputs`.
        """

    @abstractmethod
    def with_model(self, model: nn.Module) -> Self:
        """The same method on another model."""

    @property
    def probability_gradient(self) -> bool:
        """Whether the field is stated to be exactly the gradient of a locally Lipschitz output in [0, 1]."""
        return False


def check_output(output: str) -> None:
    """Complain unless `output` is one of the two things that can be explained."""
    if output not in ("logit", "probability"):
        raise ArgumentError(f"expected `output` 'logit' or 'probability', got {output!r}")


def score(model: Model, inputs: Tensor, target: int, output: Output) -> Tensor:
    """(B,) the explained output of each row."""
    logits = model(inputs)
    check_logits(logits, len(inputs))
    if not 0 <= target < logits.shape[1]:
        raise ArgumentError(f"expected `target` in 0..{logits.shape[1] - 1}, got {target}")
    return (logits if output == "logit" else logits.softmax(dim=1))[:, target]


def gradient(scores: Tensor, inputs: Tensor, *, create_graph: bool) -> Tensor:
    """Gradient of each row's score with respect to its own input."""
    if not scores.requires_grad:
        raise FieldError("the model's output does not depend on its input through differentiable operations")
    # Rows do not see each other, so the gradient of the sum holds every row's own gradient.
    return torch.autograd.grad(scores.sum(), inputs, create_graph=create_graph)[0]


def check_logits(logits: Any, rows: int) -> None:
    """Complain unless the model gave one row of logits per input."""
    shape = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
    if not isinstance(logits, Tensor) or logits.ndim != 2 or len(logits) != rows:
        raise FieldError(f"expected the model to map {rows} inputs to logits ({rows}, classes), got {shape}")


def check_evaluating(model: Model) -> None:
    """Complain about dropout or batch norm in training mode: rows would no longer be independent draws."""
    if not isinstance(model, nn.Module):
        return
    for name, module in model.named_modules():
        kind = getattr(module, "original_name", type(module).__name__)  # scripted modules keep their name only
        batch_norm = isinstance(module, nn.modules.batchnorm._BatchNorm) or "BatchNorm" in kind
        dropout = isinstance(module, nn.modules.dropout._DropoutNd) or "Dropout" in kind
        if module.training and (batch_norm or dropout):
            raise FieldError(f"expected a model in evaluation mode: call model.eval() (module {name!r} is training)")
        if batch_norm and getattr(module, "running_mean", None) is None:
            raise FieldError(f"expected rows that do not see each other: module {name!r} normalises over the batch")


def check_rows(model: Model, points: Tensor) -> None:
    """Complain if a row's output depends on the rows around it or changes from call to call.

    Every bound needs independent draws. This compares each row alone with the same row in a batch; a model that mixes
    rows in ways that do not show here remains the user's responsibility.
    """
    with torch.no_grad():
        together = model(points).double()
        alone = torch.cat([model(point[None]).double() for point in points])
    scale = float(together.abs().max())
    if not float((together - alone).abs().max()) <= _ROW_TOLERANCE[points.dtype] * max(scale, 1e-30):
        raise FieldError(
            "expected a model that maps each input by itself and always alike: its output for the same input changes "
            "with the batch around it or from call to call, so its attributions are not independent draws"
        )


_ROW_TOLERANCE = {torch.float64: 1e-8, torch.float32: 1e-3, torch.float16: 5e-2, torch.bfloat16: 2e-1}
"""Differences that rounding explains, relative to the largest logit."""
