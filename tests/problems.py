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


class HalfSpaces(Field):
    """Pairs of cells, one of which is 1 and the other -1: the first where <u_j, z> <= t_j, u_j a unit vector.

    At fraction 0.5 a pair has exactly one hot cell. At x = 0 with t_j > 0 the first is hot with probability
    Phi(t_j / sigma), and under every centred noise a shift along u_j makes the pair even just at length t_j: no radius
    beyond it is true.
    """

    name, output = "half-spaces", "logit"

    def __init__(self, directions: Tensor, thresholds: Tensor) -> None:
        self.directions, self.thresholds = directions, thresholds
        self.model = Linear(torch.zeros(directions.shape[1], dtype=torch.float64))

    @classmethod
    def random(cls, pairs: int, dim: int, largest: float, seed: int) -> "HalfSpaces":
        generator = torch.Generator().manual_seed(seed)
        directions = torch.randn(pairs, dim, generator=generator, dtype=torch.float64)
        thresholds = largest * torch.rand(pairs, generator=generator, dtype=torch.float64)
        return cls(torch.nn.functional.normalize(directions, dim=1), thresholds)

    def explain(self, inputs, target, *, generator=None, create_graph=False):
        first = torch.where(inputs.double() @ self.directions.T <= self.thresholds, 1.0, -1.0).double()
        return Explanation(torch.stack([first, -first], dim=2).flatten(1))
