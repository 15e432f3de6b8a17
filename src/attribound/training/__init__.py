"""Training objectives, one file each, and the one loop."""

from attribound.training.base import Objective
from attribound.training.loop import Schedule, accuracy, fit
from attribound.training.noisy import WithNoise
from attribound.training.standard import Standard

__all__ = ["Objective", "Schedule", "Standard", "WithNoise", "accuracy", "fit"]
