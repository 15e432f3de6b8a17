"""The embedded sample and readers of on-disk formats."""

from attribound.data.idx import read_idx, read_mnist
from attribound.data.sample import mnist_sample

__all__ = ["mnist_sample", "read_idx", "read_mnist"]
