"""One layer of a model: found by name, by module or by a probing pass, and watched while the model runs.

The user's model is not changed: a hook is set for the length of one call and taken away again, whatever happens.
"""

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, final

import torch
from torch import Tensor, nn

from attribound.errors import ArgumentError, FieldError
from attribound.fields.base import Model

_SHOWN = 12
"""Candidates that an error names."""

Grid = tuple[int, int]


@final
@dataclass(frozen=True)
class Layer:
    """A module of a model and its name there."""

    name: str
    module: nn.Module


@final
@dataclass
class Watched:
    """What a layer gave in its last call: None before."""

    output: Tensor | None = None


def named_layer(model: Model, layer: nn.Module | str) -> Layer:
    """The layer that a user means.

    Args:
        model: the classifier.
        layer: one of its modules, or the name of one as `model.named_modules()` has it.
    """
    known = dict(model.named_modules()) if isinstance(model, nn.Module) else {}
    if isinstance(layer, nn.Module):
        names = [name for name, module in known.items() if module is layer]
        if known and not names:
            raise ArgumentError(f"expected `layer` to be a module of the model, got another {type(layer).__name__}")
        return Layer(names[0] if names else type(layer).__name__, layer)
    if layer not in known or not layer:
        raise ArgumentError(
            f"expected `layer` to name a module of the model ({_listed(list(known)[1:])}), got {layer!r}"
        )
    return Layer(layer, known[layer])


def last_spatial(model: Model, inputs: Tensor) -> Layer:
    """The module that is last to give a picture (B, channels, height, width) of more than one position.

    A model that goes on with tokens has no such default: where its tokens still matter to the output, only its author
    knows.

    Args:
        model: the classifier.
        inputs: (B, ...) inputs; one forward pass of the first is made.
    """
    if not isinstance(model, nn.Module):
        raise ArgumentError(f"expected `layer` to be a module, for a model that is a {type(model).__name__}")
    layers = candidates(model, inputs)
    if not layers:
        raise FieldError("no module of this model gives a picture or tokens: it has no map of positions")
    last, pictures = layers[-1]
    if not pictures:
        raise ArgumentError(
            "expected a `layer` for a model that works on tokens, one before the last mixing of tokens "
            f"({_listed([layer.name for layer, _ in layers])})"
        )
    return last


def candidates(model: nn.Module, inputs: Tensor) -> list[tuple[Layer, bool]]:
    """Modules with a map of positions in the order in which they finish, and whether it is a picture or tokens."""
    found: list[tuple[Layer, bool]] = []

    def watch(layer: Layer) -> Callable[..., None]:
        def hook(module: nn.Module, args: Any, output: Any) -> None:
            values = _tensor(output)
            if values is not None and values.ndim >= 3 and len(values) == 1 and _positions(values) > 1:
                found.append((layer, values.ndim >= 4))

        return hook

    with ExitStack() as hooks, torch.no_grad():
        for name, module in model.named_modules():
            if name:
                hooks.enter_context(_hooked(module, watch(Layer(name, module))))
        model(inputs[:1].detach())
    return found


@contextmanager
def watched(layer: Layer, *, create_graph: bool) -> Iterator[Watched]:
    """Keep the layer's output while the model runs, as the point at which gradients stop.

    Args:
        layer: the layer.
        create_graph: leave the output connected to the inputs, so that its gradient can be differentiated in turn.
    """
    seen = Watched()

    def hook(module: nn.Module, args: Any, output: Any) -> Any:
        values = _tensor(output)
        if values is None:
            return None
        connected = create_graph and values.requires_grad
        seen.output = values if connected else values.detach().requires_grad_(True)
        # A copy goes on: the next module may work in place.
        copy = seen.output.clone()
        return copy if isinstance(output, Tensor) else type(output)((copy, *output[1:]))

    with _hooked(layer.module, hook):
        yield seen


def as_grid(values: Tensor, layer: Layer, grid: Grid | None) -> Tensor:
    """A layer's output, or its gradient, as (B, channels, height, width).

    Pictures stay as they are. Tokens (B, T, C) become `grid`, tokens in front of it (class, registers) dropped; without
    a `grid`, a square of T tokens, or of T - 1 after a class token.
    """
    if values.ndim >= 4:
        return values
    height, width = grid or _square(values, layer)
    extra = values.shape[1] - height * width
    if extra < 0:
        raise ArgumentError(f"expected a `grid` of at most {values.shape[1]} tokens, got {height} x {width}")
    return values[:, extra:].transpose(1, 2).reshape(len(values), -1, height, width)


def check_watched(seen: Watched, layer: Layer, model: Model, inputs: Tensor) -> Tensor:
    """The watched output, if it has a row per input and more than one position; else an error with candidates."""
    output = seen.output
    if output is not None and output.ndim >= 3 and len(output) == len(inputs) and _positions(output) > 1:
        return output
    got = "was not called" if output is None else f"gives {tuple(output.shape)}"
    names = [one.name for one, _ in candidates(model, inputs)] if isinstance(model, nn.Module) else []
    raise FieldError(
        f"expected a layer with a map (B, channels, height, width) or (B, tokens, channels) of more than one position "
        f"({_listed(names)}), got {layer.name!r}, which {got}"
    )


@contextmanager
def _hooked(module: nn.Module, hook: Callable[..., Any]) -> Iterator[None]:
    """A forward hook for this thread only: another one may run the same model meanwhile."""
    here = threading.get_ident()
    handle = module.register_forward_hook(lambda *args: hook(*args) if threading.get_ident() == here else None)
    try:
        yield
    finally:
        handle.remove()


def _tensor(output: Any) -> Tensor | None:
    """The tensor of a module's output; of a tuple the first, as transformers' blocks give it."""
    first = output[0] if isinstance(output, tuple) and output else output
    return first if isinstance(first, Tensor) and first.is_floating_point() else None


def _positions(values: Tensor) -> int:
    return math.prod(values.shape[2:]) if values.ndim >= 4 else values.shape[1]


def _square(values: Tensor, layer: Layer) -> Grid:
    tokens = values.shape[1]
    for count in (tokens, tokens - 1):
        side = math.isqrt(count)
        if side > 1 and side * side == count:
            return side, side
    raise ArgumentError(f"expected a `grid` (height, width): the {tokens} tokens of {layer.name!r} are no square")


def _listed(names: list[str]) -> str:
    """The last few names: those near the output are the ones that people mean."""
    unique = list(dict.fromkeys(names))
    return ", ".join(["..."] * (len(unique) > _SHOWN) + unique[-_SHOWN:]) if unique else "it has none"
