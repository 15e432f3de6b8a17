"""Where the work is done: here, or on Ray."""

from attribound.runs.engines.base import Engine
from attribound.runs.engines.local import Local

__all__ = ["Engine", "Local"]
