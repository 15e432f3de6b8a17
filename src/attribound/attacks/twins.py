"""Smooth twins of ReLU, ReLU6, leaky ReLU and max-pooling, for as long as an attack differentiates twice.

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

from attribound.errors import FieldError


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
    def relu(values: Tensor) -> Tensor:
        return functional.softplus(values, beta=sharpness)

    def leaky(values: Tensor, negative_slope: float = 0.01) -> Tensor:
        return negative_slope * values + (1 - negative_slope) * relu(values)

    def between(values: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
        return min_val + relu(values - min_val) - relu(values - max_val)

    def relu6(values: Tensor) -> Tensor:
        return between(values, 0.0, 6.0)

    def pool(
        values: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, **rest: Any
    ) -> Tensor:
        if rest.get("ceil_mode") or rest.get("return_indices") or _pair(dilation) != (1, 1):
            raise FieldError("max-pooling with ceil_mode, return_indices or dilation has no smooth twin")
        window, step, pad = _pair(kernel_size), _pair(stride or kernel_size), _pair(padding)
        padded = functional.pad(values, (pad[1], pad[1], pad[0], pad[0]), value=-1e9)
        patches = padded.unfold(-2, window[0], step[0]).unfold(-2, window[1], step[1]).flatten(-2)
        return torch.logsumexp(sharpness * patches, dim=-1) / sharpness

    twins: dict[Any, Callable[..., Any]] = dict.fromkeys((torch.relu, functional.relu, Tensor.relu), _maybe_kept(relu))
    twins |= dict.fromkeys((torch.relu_, functional.relu_, Tensor.relu_), _kept(relu))
    twins |= {functional.leaky_relu: _maybe_kept(leaky), functional.leaky_relu_: _kept(leaky)}
    twins |= {functional.hardtanh: _maybe_kept(between), functional.hardtanh_: _kept(between)}
    twins |= {functional.relu6: _maybe_kept(relu6)}
    return twins | dict.fromkeys((functional.max_pool2d, torch.max_pool2d), pool)


def _kept(twin: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """In place: the tensor itself must hold the result, for everything else that refers to it."""
    return lambda values, *args, **kwargs: values.copy_(twin(values.clone(), *args, **kwargs))


def _maybe_kept(twin: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """In place if asked for, as torch's own functions."""

    def call(values: Tensor, *args: Any, inplace: bool = False, **kwargs: Any) -> Tensor:
        return (_kept(twin) if inplace else twin)(values, *args, **kwargs)

    return call


def _pair(size: Any) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else (size[0], size[-1])
