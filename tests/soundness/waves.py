"""Gradients of a probability whose smoothed maps are known exactly, for noise with units."""

import numpy as np
import torch
from torch import Tensor, nn


class Waves(nn.Module):
    """Probability 1/2 + mean_i sin(a_i y_i) / 2 of class 0; its gradient has norm at most |a| / (2 d)."""

    def __init__(self, frequencies: Tensor) -> None:
        super().__init__()
        self.frequencies = frequencies

    def forward(self, y: Tensor) -> Tensor:
        p = 0.5 + torch.sin(self.frequencies * y).mean(dim=1) / 2
        return torch.stack([p, 1 - p], dim=1).log()

    @property
    def limit(self) -> float:
        return float(self.frequencies.norm()) / (2 * len(self.frequencies))

    def smoothed(self, x: np.ndarray, deviations: np.ndarray) -> np.ndarray:
        """E a cos(a (x + s z)) / (2 d) = a cos(a x) exp(-(a s)^2 / 2) / (2 d)."""
        a = self.frequencies.numpy()
        exact: np.ndarray = a * np.cos(a * x) * np.exp(-((a * deviations) ** 2) / 2) / (2 * len(a))
        return exact
