"""Any function of rows as a model: arrays or tensors in, scores out, no gradients."""

from collections.abc import Callable
from typing import Any, Literal, final

import numpy as np
import torch
from torch import Tensor, nn

from attribound.errors import ArgumentError, FieldError

Takes = Literal["numpy", "torch"]
"""What a function is given: a numpy array or a tensor, rows first."""


@final
class Scores(nn.Module):
    """A function of rows as a model: `Scores(forest.predict_proba)`, `Scores(predict, takes="torch")`.

    Attributes:
        pinned_sha256: the hash that pins the function down; "" for a bare function, which nothing pins.
    """

    def __init__(self, predict: Callable[[Any], Any], *, takes: Takes = "numpy", sha256: str = "") -> None:
        """Wrap a function.

        Args:
            predict: rows (B, ...) to scores (B, K); the class of a row is the largest.
            takes: "numpy" or "torch": what the rows are given as.
            sha256: hash of the file that the function was read from, if there is one.
        """
        super().__init__()
        if not callable(predict):
            raise ArgumentError(f"expected a function of rows, got {type(predict).__name__}")
        self.predict, self.takes, self.pinned_sha256 = predict, check_takes(takes), check_sha256(sha256)
        self.training = False

    def forward(self, inputs: Tensor) -> Tensor:
        """(B, ...) to what the function returned, as a tensor."""
        return called("predict", self.predict, inputs, self.takes)


def check_takes(takes: Takes) -> Takes:
    """The word, if it is one of the two."""
    if takes not in ("numpy", "torch"):
        raise ArgumentError(f"expected `takes` 'numpy' or 'torch', got {takes!r}")
    return takes


def check_sha256(sha256: str) -> str:
    """The hash, 64 hexadecimal digits or nothing."""
    if sha256 and (len(sha256) != 64 or set(sha256) - set("0123456789abcdef")):
        raise ArgumentError(f"expected `sha256` of 64 hexadecimal digits, got {sha256!r}")
    return sha256


def called(name: str, function: Callable[..., Any], inputs: Tensor, takes: Takes, **arguments: Any) -> Tensor:
    """What a function says about rows, as a tensor on their device; a FieldError that names it if it fails.

    Args:
        name: of the function, for messages.
        function: the function.
        inputs: (B, ...) the rows; the function gets a copy, which it may change.
        takes: "numpy" or "torch".
        arguments: further arguments.
    """
    rows = inputs.detach().clone()
    try:
        values = function(rows.cpu().numpy() if takes == "numpy" else rows, **arguments)
    except Exception as error:  # whatever the user's own function raises
        text = " ".join(str(error).split())[:300]
        raise FieldError(f"{name} failed: {type(error).__name__}: {text}") from error
    if isinstance(values, Tensor):
        return values.detach().to(inputs.device)
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise FieldError(f"expected {name} to return an array of numbers, got {type(values).__name__}")
    return torch.from_numpy(np.array(array, dtype=array.dtype.newbyteorder("="))).to(inputs.device)
