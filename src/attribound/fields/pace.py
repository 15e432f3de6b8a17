"""How long maps take here, by the clock."""

import time

import torch
from torch import Tensor

from attribound.fields.base import Field


def seconds(field: Field, x: Tensor, rows: int) -> float:
    """Seconds for the maps of a number of copies of an input in one call; reading a number waits for accelerators."""
    points, generator = x.expand(rows, *x.shape).clone(), torch.Generator(x.device).manual_seed(0)
    started = time.perf_counter()
    with torch.enable_grad():
        float(field.attribute(points, 0, generator=generator).sum())
    return time.perf_counter() - started
