"""The mode of a model's layers: in evaluation mode no row of a batch sees another, and no statistic moves."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def evaluating(model: nn.Module, kind: type[nn.Module] = nn.Module) -> Iterator[None]:
    """Every layer, or every one of a kind, in evaluation mode; afterwards each has its own mode again.

    Attacks and attributions are about the network as it will be used. In training mode batch norm would let the rows
    of a batch see each other, and every pass of an attack would move the running statistics.
    """
    training = [layer for layer in model.modules() if layer.training and isinstance(layer, kind)]
    for layer in training:
        layer.training = False
    try:
        yield
    finally:
        for layer in training:
            layer.training = True
