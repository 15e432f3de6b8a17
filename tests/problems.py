"""Problems that carry their exact answer: models whose smoothed attribution is known in closed form."""

import math

import numpy as np
import torch
from torch import Tensor, nn

from attribound.fields.base import Explanation, Field


class Linear(nn.Module):
    """Logits (w . y, 0): saliency is w everywhere, so smoothing changes nothing."""

    def __init__(self, weights: Tensor) -> None:
        super().__init__()
        self.weights = nn.Parameter(weights)

    def forward(self, y: Tensor) -> Tensor:
        score = y.flatten(1) @ self.weights
        return torch.stack([score, torch.zeros_like(score)], dim=1)


class AbsFirst(nn.Module):
    """Logits (|y_1|, 0): saliency is sign(y_1) e_1."""

    def forward(self, y: Tensor) -> Tensor:
        score = y[:, 0].abs()
        return torch.stack([score, torch.zeros_like(score)], dim=1)

    @staticmethod
    def smoothed_gaussian(first: float, sigma: float) -> float:
        """First coordinate of the smoothed saliency at a point whose first coordinate is `first`."""
        return math.erf(first / (sigma * math.sqrt(2)))


class AbsDifference(nn.Module):
    """Logits (|y_1 - y_2|, 0)."""

    def forward(self, y: Tensor) -> Tensor:
        score = (y[:, 0] - y[:, 1]).abs()
        return torch.stack([score, torch.zeros_like(score)], dim=1)


class Quadratic(nn.Module):
    """Logits (y^T A y / 2, 0), A symmetric: saliency A y, smoothed saliency A x for every centred noise."""

    def __init__(self, matrix: Tensor) -> None:
        super().__init__()
        self.matrix = nn.Parameter(matrix)

    def forward(self, y: Tensor) -> Tensor:
        score = ((y @ self.matrix) * y).sum(dim=1) / 2
        return torch.stack([score, torch.zeros_like(score)], dim=1)


class ThreeRegions(Field):
    """Constant on B \\ B~, on the overlap and on B~ \\ B, for the balls of radius 1 around x and x~."""

    name, output = "regions", "logit"
    EPSILON, DIM = 0.021812, 784
    G1, G2 = np.array([0.96, -0.28]), np.array([0.3547, 0.0884])

    def __init__(self) -> None:
        self.model = Linear(torch.zeros(self.DIM, dtype=torch.float64))
        self.attacked = torch.zeros(self.DIM, dtype=torch.float64)
        self.attacked[0] = self.EPSILON

    def explain(self, inputs, target, *, generator=None, create_graph=False):
        points = inputs.double()
        here, there = points.norm(dim=1) <= 1, (points - self.attacked).norm(dim=1) <= 1
        values = torch.zeros_like(points)
        for region, vector in ((here & ~there, self.G1), (here & there, self.G2), (there & ~here, -self.G1)):
            values[region, :2] = torch.from_numpy(vector)
        return Explanation(values)
