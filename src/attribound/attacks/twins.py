"""Smooth twins of ReLU, leaky ReLU and max-pooling, for as long as an attack differentiates twice.

A ReLU network's gradient is piecewise constant: its derivative, which an attack follows, is zero almost everywhere.
Within `smooth_twins` every call of these functions, by a module or directly, in place or not, computes a smooth version
instead. The user's model is not copied, changed or even looked at.
"""

from collections.abc import Callable, Iterable
from typing import Any, final

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode


@final
class smooth_twins(TorchFunctionMode):  # noqa: N801 - reads as the context that it is
    """`with smooth_twins(sharpness=20.0): ...`; the twins approach the originals as sharpness grows."""

    def __init__(self, sharpness: float = 20.0) -> None:
        super().__init__()
        self._twins = _twins(sharpness)

    def __torch_function__(
        self, func: Any, types: Iterable[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Replace the function if it has a twin."""
        return self._twins.get(func, func)(*args, **(kwargs or {}))


def _twins(sharpness: float) -> dict[Any, Callable[..., Any]]:
    def relu(values: Tensor, inplace: bool = False) -> Tensor:
        return functional.softplus(values, beta=sharpness)

    def leaky(values: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
        return negative_slope * values + (1 - negative_slope) * relu(values)

    def pool(
        values: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, **rest: Any
    ) -> Tensor:
        if rest.get("ceil_mode") or rest.get("return_indices") or _pair(dilation) != (1, 1):
            raise NotImplementedError("max-pooling with ceil_mode, return_indices or dilation has no smooth twin")
        window, step, pad = _pair(kernel_size), _pair(stride or kernel_size), _pair(padding)
        padded = functional.pad(values, (pad[1], pad[1], pad[0], pad[0]), value=-1e9)
        patches = padded.unfold(2, window[0], step[0]).unfold(3, window[1], step[1]).flatten(4)
        return torch.logsumexp(sharpness * patches, dim=-1) / sharpness

    def kept(twin: Callable[..., Tensor]) -> Callable[..., Tensor]:
        """In place: the tensor itself must hold the result, whoever else looks at it."""
        return lambda values, *args, **kwargs: values.copy_(twin(values.clone(), *args, **kwargs))

    twins: dict[Any, Callable[..., Any]] = dict.fromkeys((torch.relu, functional.relu, Tensor.relu), relu)
    twins |= dict.fromkeys((torch.relu_, functional.relu_, Tensor.relu_), kept(relu))
    twins |= {functional.leaky_relu: leaky, functional.leaky_relu_: kept(leaky)}
    return twins | dict.fromkeys((functional.max_pool2d, torch.max_pool2d, functional._max_pool2d), pool)


def _pair(size: Any) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else (size[0], size[-1])
