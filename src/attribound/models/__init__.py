"""Architectures and shipped weights."""

from attribound.models.cnn import SmallCNN
from attribound.models.shipped import SHIPPED, load_shipped

__all__ = ["SHIPPED", "SmallCNN", "load_shipped"]
