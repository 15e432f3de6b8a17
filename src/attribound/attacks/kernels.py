"""Attention that can be differentiated twice.

Attacks follow the slope of a map that is itself a gradient. The fused kernels of scaled_dot_product_attention have no
second derivative, so within `twice_differentiable` it runs as plain products and softmax: slower, and the same numbers
up to rounding. The user's model is not looked at.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from torch.nn.attention import SDPBackend, sdpa_kernel


@contextmanager
def twice_differentiable() -> Iterator[None]:
    """Goes around everything that builds a graph to be differentiated again."""
    with sdpa_kernel(SDPBackend.MATH):
        yield
