"""Where a layer's output has its channels: pictures (B, C, H, W) and signals (B, C, L) first; tokens (B, T, C) last.

Some networks keep pictures as (B, H, W, C). A map over the wrong axes would be certified like any other and mean
nothing, so the layout is found out: from the kind of the module, from the sides of the picture that went in, and from
the last module whose kind says it.
"""

from typing import Literal

from torch import nn
from torch.nn.modules import batchnorm, conv, instancenorm, pooling

Channels = Literal["first", "last"]
Shape = tuple[int, ...]

_FIRST = (
    conv._ConvNd,
    batchnorm._BatchNorm,
    instancenorm._InstanceNorm,
    nn.GroupNorm,
    pooling._MaxPoolNd,
    pooling._AvgPoolNd,
    pooling._AdaptiveAvgPoolNd,
    pooling._AdaptiveMaxPoolNd,
)
_LAST = (nn.Linear, nn.MultiheadAttention, nn.Embedding)


def told(module: nn.Module) -> Channels | None:
    """What the kind of a module says; of layer norm only torch's own, for others turn pictures around in it."""
    if isinstance(module, _FIRST):
        return "first"
    return "last" if isinstance(module, _LAST) or type(module) is nn.LayerNorm else None


def guessed(shape: Shape, inputs: Shape, known: tuple[Shape, Channels] | None) -> Channels:
    """The layout of an output whose module's kind says nothing.

    Args:
        shape: of the output, with the batch.
        inputs: shape of the model's inputs, with the batch.
        known: shape and layout of the last output whose module's kind said it.
    """
    if len(shape) == len(inputs) == 4 and shape[1] != shape[3]:
        first, last = (_alike(sides, inputs[2:]) for sides in (shape[2:], shape[1:3]))
        if first != last:
            return "first" if first else "last"
    if known is None or len(known[0]) != len(shape):
        return "last" if len(shape) == 3 else "first"
    turned = shape != known[0] and (shape[0], *shape[:0:-1]) == known[0]
    return known[1] if not turned else ("last" if known[1] == "first" else "first")


def positions(shape: Shape, channels: Channels) -> Shape:
    """The shape of a map over this output."""
    return shape[2:] if channels == "first" else shape[1:-1]


def _alike(sides: Shape, picture: Shape) -> bool:
    """Whether a grid has the proportions of a picture, give or take one cell."""
    (height, width), (tall, wide) = sides, picture
    return abs(height * wide - width * tall) <= max(tall, wide)
