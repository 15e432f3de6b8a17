"""Checks at the public edge: fields, inputs, targets. Each is made once, and says in a line what was expected."""

import operator
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from torch import Tensor, nn

from attribound import checks as check
from attribound.errors import ArgumentError, AttriboundWarning, FieldError
from attribound.fields.base import Field, Model, forward
from attribound.fields.bounded import Bounded, bounded
from attribound.fields.precision import check_precision, in_precision, slow_here
from attribound.fields.rows import check_evaluating
from attribound.models.sizes import only_size, stated_size
from attribound.models.stated import layers_of
from attribound.noise import Noise
from attribound.sampling.draws import predicted

AskedTarget = int | str | None
"""A class by its number or its name; None: the predicted class."""

Targets = AskedTarget | Sequence[int | str] | Tensor


@final
@dataclass(frozen=True)
class Peek:
    """What one look at an unchanged input says.

    Attributes:
        logits: (1, K) the model's output.
    """

    logits: Tensor

    @property
    def prediction(self) -> int:
        """The model's class; an error where it has none, as a model may for inputs that are no data (all zero)."""
        return int(predicted(self.logits))

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return self.logits.shape[1]


def check_field(field: Field) -> Bounded:
    """The field, if it has a limit and its model is in evaluation mode."""
    limited = bounded(field)
    check_evaluating(limited.model)
    if any(value.is_inference() for value in _tensors(limited.model)):
        raise FieldError(
            "expected a model made outside torch.inference_mode(): gradients cannot pass through its weights; "
            "load it again outside, or use copy.deepcopy(model) there"
        )
    return limited


def with_precision(field: Bounded, precision: str | None) -> Bounded:
    """The field in the precision asked for; a warning where that saves no time."""
    if precision is None:
        return field
    device = next((value.device for value in _tensors(field.model)), torch.device("cpu"))
    if line := slow_here(check_precision(precision), device):
        warnings.warn(line, AttriboundWarning, stacklevel=4)
    return in_precision(field, precision)


def check_noise(noise: Any) -> Noise:
    """The noise; a bare number gets a suggestion."""
    if isinstance(noise, Noise):
        return noise
    number = isinstance(noise, int | float) and not isinstance(noise, bool) and noise > 0
    meant = f"; did you mean Gaussian({noise})?" if number else ""
    raise ArgumentError(f"expected `noise` UniformBall or Gaussian, got {type(noise).__name__}{meant}")


def check_input(x: Any, *, missing: bool = False) -> Tensor:
    """The input as a finite floating-point tensor; numpy arrays are taken too.

    Args:
        x: what was given.
        missing: cells may be NaN.
    """
    if isinstance(x, np.ndarray):
        x = torch.from_numpy(np.ascontiguousarray(x))
    if not isinstance(x, Tensor):
        raise ArgumentError(f"expected `x` to be a tensor, got {type(x).__name__}")
    if not x.is_floating_point():
        raise ArgumentError(f"expected a floating-point `x`, got {x.dtype}: pass x.float()")
    if not (torch.isfinite(x) | (x.isnan() & missing)).all():
        raise ArgumentError("expected a finite `x`, got NaN or infinity in it")
    if torch.is_inference_mode_enabled():
        raise ArgumentError("expected a call outside torch.inference_mode(), where no gradient can be computed")
    return x.detach().clone() if x.is_inference() else x.detach()  # a copy made here may have gradients


def check_batch(inputs: Any, field: Field) -> Tensor:
    """A batch of inputs with a leading dimension, not one input of the field's model."""
    batch, model = check_input(inputs, missing=field.takes_missing), field.model
    if batch.ndim < 2:
        raise ArgumentError(
            f"expected a batch (inputs, ...), got shape {tuple(batch.shape)}: use certify for one input"
        )
    if len(batch) and not _accepts(model, batch[0]) and _accepts(model, batch):
        raise ArgumentError(
            f"expected a batch (inputs, ...), got one input of shape {tuple(batch.shape)}: use certify, or x[None]"
        )
    return batch


def _accepts(model: Model, x: Tensor) -> bool:
    try:
        with torch.no_grad():
            forward(model, x[None])
    except Exception:  # whatever a model raises for an input that it was not made for
        return False
    return True


def look_at(model: Model, x: Tensor) -> Peek:
    """The predicted class of one input; a batch in its place gets an error that names it."""
    problem: Exception
    try:
        with torch.no_grad():
            logits = forward(model, x[None])
    except (FieldError, RuntimeError, ValueError, IndexError, TypeError) as error:
        problem = error
    else:
        check.dimension(x.numel(), "x's size")
        return Peek(logits)
    if _is_batch(model, x):
        raise ArgumentError(
            f"expected one input, got a batch of {len(x)} (shape {tuple(x.shape)}): use certify_batch, or x[0]"
        )
    raise FieldError(
        f"the model does not accept one input of shape {tuple(x.shape)} (as a batch of 1): {_reason(model, x, problem)}"
    )


def _reason(model: Model, x: Tensor, problem: Exception) -> str:
    """Why a model does not accept an input: precision, channels, size, or what torch says."""
    own = next((value.dtype for value in _tensors(model) if value.is_floating_point()), x.dtype)
    if own != x.dtype:
        name, given = (str(kind).removeprefix("torch.") for kind in (own, x.dtype))
        return f"it is {given} and the model {name}: pass x.to(torch.{name}), or model.to(torch.{given})"
    if (wanted := _channels(model)) and x.ndim == 3 and len(x) != wanted:
        return (
            f"the pictures have {_counted(len(x))}, its first convolution takes {wanted}: read them with {wanted} "
            f"(folder:DIR?channels={wanted}), or change them inside the model"
        )
    if x.ndim == 3 and (size := stated_size(model) or only_size(model, len(x))) and x.shape[1:] != (size, size):
        return (
            f"the picture has {x.shape[2]} x {x.shape[1]} pixels, the model takes {size} x {size}: resize it "
            f"(folder:DIR?size={size})"
        )
    return " ".join(str(problem).split())[:300] or type(problem).__name__


def _tensors(model: Model) -> Iterator[Tensor]:
    """Weights and buffers, where the model has any."""
    if isinstance(model, nn.Module):
        yield from model.parameters()
        yield from model.buffers()


def repeated_channels(model: Model, shape: Sequence[int]) -> str:
    """A line about pictures of one channel and a convolution that takes more: broadcasting repeats them unasked."""
    wanted = _channels(model)
    if not wanted or wanted == 1 or len(shape) != 3 or shape[0] != 1:
        return ""
    return (
        f"note: the pictures have 1 channel and the model's first convolution takes {wanted}: the model repeats them, "
        f"on purpose or because it normalises {wanted} channels"
    )


def _channels(model: Model) -> int | None:
    """How many channels the first convolution takes, where there is one."""
    modules = model.modules() if isinstance(model, nn.Module) else iter(())
    return next((one.in_channels for one in modules if isinstance(one, nn.Conv2d)), None)


def first_channels(model: Model) -> int:
    """Channels of the pictures that a model takes: 1 if its first convolution says so, else 3."""
    return 1 if _channels(model) == 1 else 3


def _counted(channels: int) -> str:
    return "1 channel" if channels == 1 else f"{channels} channels"


def _is_batch(model: Model, x: Tensor) -> bool:
    try:
        with torch.no_grad():
            return x.ndim > 1 and len(forward(model, x)) == len(x)
    except (FieldError, RuntimeError, ValueError, IndexError, TypeError):
        return False


def check_target(target: Any, classes: int, names: Sequence[str] = ()) -> int:
    """A class number, from any kind of whole number or, where classes have names, from a name."""
    if isinstance(target, str):
        return _named(target, classes, names)
    try:
        number = -1 if isinstance(target, bool) else operator.index(target)
    except TypeError:
        number = -1
    if not 0 <= number < classes:
        raise ArgumentError(f"expected `target` in 0..{classes - 1}, got {target}")
    return number


def _named(target: str, classes: int, names: Sequence[str]) -> int:
    """The one class of that name."""
    places = [number for number, name in enumerate(names) if name == target]
    if len(places) == 1 and places[0] < classes:
        return places[0]
    if not names:
        raise ArgumentError(
            f"expected `target` in 0..{classes - 1}, got {target!r}: to name classes, say classes=[...] in their order"
        )
    known = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    problem = "several classes are called" if places else "no class is called"
    raise ArgumentError(f"expected `target` to be a class ({known}), {problem} {target!r}")


def class_names(model: Any) -> tuple[str, ...]:
    """What a model itself calls its classes: `classes`, or Hugging Face's `config.id2label`; empty if it does not."""
    return next((names for layer in layers_of(model) if (names := _own_names(layer))), ())


def _own_names(model: Any) -> tuple[str, ...]:
    names = getattr(model, "classes", None)
    if isinstance(names, Sequence) and not isinstance(names, str) and all(isinstance(name, str) for name in names):
        return tuple(names)
    labels = getattr(getattr(model, "config", None), "id2label", None)
    if isinstance(labels, Mapping) and set(labels) == set(range(len(labels))):
        return tuple(str(labels[number]) for number in range(len(labels)))
    return ()


def each_target(target: Any, count: int) -> list[Any]:
    """One target per input of a batch."""
    if isinstance(target, Tensor | np.ndarray):
        target = target.tolist()
    if isinstance(target, str) or not isinstance(target, Sequence):
        return [target] * count
    if len(target) != count:
        raise ArgumentError(f"expected one `target` per input ({count}), got {len(target)}")
    return list(target)
