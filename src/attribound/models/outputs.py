"""Whatever a model returns, as logits (B, K): one row per input, one column per class."""

from collections.abc import Mapping
from typing import Any, final

import torch
from torch import Tensor, nn

from attribound.errors import FieldError

LOGITS = ("logits", "out", "output", "scores")
"""What the logits are called among several outputs."""


def as_logits(output: Any, rows: int, *, score: bool = False) -> Tensor:
    """Logits (B, K) from what a model returned for `rows` inputs.

    Understood are a tensor, an object with `.logits`, a mapping with "logits" or with one tensor, and a tuple or list
    whose first tensor is meant. One number z per input, (B,) or (B, 1), is the logit of a yes-or-no model: its two
    classes get -z/2 and z/2, whose softmax is sigmoid(z), so that either answer can be explained.

    Args:
        output: what the model returned.
        rows: how many inputs it was given.
        score: the numbers are scores to be explained as they are (regression): (B,) and (B, 1) give (B, 1).

    Raises:
        FieldError: if no logits can be found, with what came and what to return.
    """
    logits = _tensor(output)
    shape = tuple(logits.shape)
    if not logits.is_floating_point():
        raise FieldError(
            f"expected the model to return logits, got {_kind(logits)} of shape {shape}: return them before argmax"
        )
    if logits.ndim not in (1, 2) or len(logits) != rows or 0 in shape:
        raise FieldError(
            f"expected the model to map {rows} inputs to logits ({rows}, classes), got a tensor of shape {shape}: "
            f"return one row of logits per input"
        )
    column = logits[:, None] if logits.ndim == 1 else logits
    if score or column.shape[1] > 1:
        return column
    return torch.cat([-column / 2, column / 2], dim=1)


def _tensor(output: Any) -> Tensor:
    """The one tensor that is meant."""
    if isinstance(output, Tensor):
        return output
    if isinstance(getattr(output, "logits", None), Tensor):
        logits: Tensor = output.logits
        return logits
    if isinstance(output, Mapping):
        return _of_mapping(output)
    if isinstance(output, tuple | list):
        for part in output:
            if isinstance(part, Tensor):
                return part
        raise FieldError(f"expected the model to return logits, got a {_kind(output)} without a tensor")
    raise FieldError(f"expected the model to return logits, got {_kind(output)}: return its tensor of logits")


def _of_mapping(output: Mapping[Any, Any]) -> Tensor:
    for key in LOGITS:
        if isinstance(output.get(key), Tensor):
            logits: Tensor = output[key]
            return logits
    tensors = [value for value in output.values() if isinstance(value, Tensor)]
    if len(tensors) == 1:
        return tensors[0]
    names = ", ".join(repr(key) for key in output)
    raise FieldError(
        f"expected the model to return logits, got a {_kind(output)} with {names or 'nothing'}: return the entry that "
        f"holds them, or call it 'logits'"
    )


def _kind(value: Any) -> str:
    return str(value.dtype).removeprefix("torch.") if isinstance(value, Tensor) else type(value).__name__


@final
class Logits(nn.Module):
    """A model whose output is turned into logits, for code that takes nothing else."""

    def __init__(self, model: nn.Module, *, score: bool = False) -> None:
        super().__init__()
        self.model, self.score = model, score

    def forward(self, inputs: Tensor) -> Tensor:
        """(B, ...) to (B, K)."""
        return as_logits(self.model(inputs), len(inputs), score=self.score)


@final
class FromProbabilities(nn.Module):
    """A model that ends in a softmax or a sigmoid, with logits for its probabilities: their logarithms.

    Without it a sigmoid's 0.1 would be taken for a logit, and every input for a yes.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, inputs: Tensor) -> Tensor:
        """(B, ...) to (B, K)."""
        share = as_logits(self.model(inputs), len(inputs), score=True)
        if bool(((share < 0) | (share > 1)).any()):
            raise FieldError(
                f"expected probabilities in [0, 1], got {float(share.detach().min()):g} .. "
                f"{float(share.detach().max()):g}: leave FromProbabilities out"
            )
        every = torch.cat([1 - share, share], dim=1) if share.shape[1] == 1 else share
        return every.clamp_min(torch.finfo(every.dtype).tiny).log()
