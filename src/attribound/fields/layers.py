"""One layer of a model: found by name, by module or by a probing pass, and watched while the model runs.

The user's model is not changed: a hook is set for the length of one call and taken away again, whatever happens.
"""

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, final

import torch
from torch import Tensor, nn

from attribound.errors import ArgumentError, FieldError
from attribound.fields.base import Model, forward
from attribound.fields.layouts import Channels, Shape, guessed, positions, told

_SHOWN = 12
"""Candidates that an error names."""

Grid = tuple[int, int]


@final
@dataclass(frozen=True)
class Layer:
    """A module of a model, its name there, and where its output has its channels: None until a pass was watched."""

    name: str
    module: nn.Module
    channels: Channels | None = None


@final
@dataclass
class Watched:
    """What a layer gave in its last call: None before, or if it was no tensor of `kind`."""

    output: Tensor | None = None
    kind: str | None = None


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
    """The module that is last to give a picture (B, channels, height, width) that the model's output depends on.

    A model that goes on with tokens has no such default: where its tokens still matter to the output, only its author
    knows.

    Args:
        model: the classifier.
        inputs: (B, ...) inputs; a few forward passes of the first are made.
    """
    if not isinstance(model, nn.Module):
        raise ArgumentError(f"expected `layer` to be a module, for a model that is a {type(model).__name__}")
    layers = candidates(model, inputs)
    if not layers:
        raise FieldError(
            "no module of this model gives a picture or tokens (those of TorchScript cannot be watched): it has no map "
            "of positions"
        )
    for layer, shape in reversed(layers):
        if len(shape) == 3 and layer.channels == "last":
            raise ArgumentError(
                "expected a `layer` for a model that works on tokens, one before the last mixing of tokens "
                f"({_listed([one.name for one, _ in layers])})"
            )
        if _matters(model, layer, inputs[:1]):
            return layer
    raise FieldError("the model's output does not depend on any module that gives a picture")


def candidates(model: nn.Module, inputs: Tensor) -> list[tuple[Layer, Shape]]:
    """Modules whose last output has a map of positions, in the order in which they finish, with that output's shape."""
    found: dict[str, tuple[Layer, Shape]] = {}
    known: list[tuple[Shape, Channels]] = []

    def watch(name: str) -> Callable[..., None]:
        def hook(module: nn.Module, args: Any, output: Any) -> None:
            values = _tensor(output)
            found.pop(name, None)
            if values is None or values.ndim < 3:
                return
            shape, said = tuple(values.shape), told(module)
            if said is not None:
                known[:] = [(shape, said)]
            channels = said or guessed(shape, tuple(inputs.shape), known[0] if known else None)
            if len(values) == 1 and math.prod(positions(shape, channels)) > 1:
                found[name] = (Layer(name, module, channels), shape)

        return hook

    with ExitStack() as hooks, torch.no_grad():
        for name, module in model.named_modules():
            if name:
                hooks.enter_context(_hooked(module, watch(name)))
        model(inputs[:1].detach().clone())
    return list(found.values())


def arranged(model: Model, layer: Layer, inputs: Tensor) -> Layer:
    """The layer with its channels found; where they cannot be, as for pictures."""
    layers = candidates(model, inputs) if isinstance(model, nn.Module) else []
    here = [one.channels for one, _ in layers if one.name == layer.name]
    return replace(layer, channels=here[0] if here else told(layer.module) or "first")


def _matters(model: Model, layer: Layer, inputs: Tensor) -> bool:
    """Whether the model's output depends on this layer's."""
    with torch.enable_grad(), watched(layer, create_graph=False) as seen:
        logits = forward(model, inputs.detach())
        if seen.output is None or not logits.requires_grad:
            return False
        return torch.autograd.grad(logits.sum(), seen.output, allow_unused=True)[0] is not None


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
            seen.output, seen.kind = None, type(output).__name__
            return None
        connected = create_graph and values.requires_grad
        seen.output = values if connected else values.detach().requires_grad_(True)
        # A copy goes on: the next module may work in place.
        copy = seen.output.clone()
        if isinstance(output, Tensor):
            return copy
        parts = (copy, *output[1:])
        return output._make(parts) if hasattr(output, "_make") else type(output)(parts)

    with _hooked(layer.module, hook):
        yield seen


def as_grid(values: Tensor, layer: Layer, grid: Grid | None, inputs: Tensor) -> Tensor:
    """A layer's output, or its gradient, as (B, channels, positions ...).

    Pictures and signals keep their positions. Tokens (B, T, C) become `grid`, tokens in front of it (class, registers)
    dropped; without a `grid`, T tokens, or T - 1 after a class token, in the proportions of the picture that went in.
    Tokens of what is no picture stay in a row.
    """
    tokens = values.ndim == 3 and layer.channels == "last"
    if grid is not None and not tokens:
        raise ArgumentError(f"expected no `grid`: {layer.name!r} gives no tokens, but {tuple(values.shape)}")
    if not tokens or (grid is None and inputs.ndim != 4):
        return values.movedim(-1, 1) if layer.channels == "last" else values
    height, width = grid or _proportioned(values.shape[1], layer, inputs)
    extra = values.shape[1] - height * width
    if extra < 0:
        raise ArgumentError(f"expected a `grid` of at most {values.shape[1]} tokens, got {height} x {width}")
    return values[:, extra:].transpose(1, 2).reshape(len(values), -1, height, width)


def check_watched(seen: Watched, layer: Layer, model: Model, inputs: Tensor) -> Tensor:
    """The watched output, if it has a row per input and more than one position; else an error with candidates."""
    output = seen.output
    if output is not None and output.ndim >= 3 and len(output) == len(inputs) and _cells(output, layer) > 1:
        return output
    got = f"gives a {seen.kind}, no tensor" if seen.kind else "was not called"
    got = got if output is None else f"gives {tuple(output.shape)}"
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


def _cells(output: Tensor, layer: Layer) -> int:
    return math.prod(positions(tuple(output.shape), layer.channels or "first"))


def _proportioned(tokens: int, layer: Layer, inputs: Tensor) -> Grid:
    """The grid of all tokens, or of all but a class token, that has the picture's proportions."""
    tall, wide = inputs.shape[-2:]
    for count in (tokens, tokens - 1):
        height = math.isqrt(count * tall // wide)
        if count > 1 and height and count % height == 0 and height * wide == count // height * tall:
            return height, count // height
    raise ArgumentError(
        f"expected a `grid` (height, width): the {tokens} tokens of {layer.name!r} do not fit a picture of {tall} x "
        f"{wide}"
    )


def _listed(names: list[str]) -> str:
    """The last few names: those near the output are the ones that people mean."""
    unique = list(dict.fromkeys(names))
    return ", ".join(["..."] * (len(unique) > _SHOWN) + unique[-_SHOWN:]) if unique else "it has none"
