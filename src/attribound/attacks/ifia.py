"""IFIA (Ghorbani et al. 2019) in the l2 ball, as the paper uses it: top-k, mass-centre and targeted losses."""

from dataclasses import dataclass
from typing import Literal, final

import torch
from torch import Tensor

from attribound.attacks.base import Attack, Problem, require_gradients
from attribound.attacks.direct import differentiable_cosine
from attribound.attacks.view import View
from attribound.errors import ArgumentError, UnfitError

IfiaLoss = Literal["topk", "centre", "targeted"]


@final
@dataclass(frozen=True)
class Ifia(Attack):
    """Iterative feature importance attack.

    Attributes:
        loss: "topk" drains the k features that were largest; "centre" moves the map's centre of mass; "targeted" turns
            the map towards `towards`.
        k: number of features for "topk"; None takes the paper's 100 for up to 1,000 features, 1,000 beyond, and never
            more than half of them.
        towards: the wanted map for "targeted", shape of the map.
    """

    loss: IfiaLoss = "topk"
    k: int | None = None
    towards: Tensor | None = None
    name = "ifia"

    def prepare(self, problem: Problem) -> None:
        """Check loss, k and the wanted map against the input."""
        size, shape = problem.reference.numel(), problem.shape
        if self.loss not in ("topk", "centre", "targeted"):
            raise ArgumentError(f"expected `loss` 'topk', 'centre' or 'targeted', got {self.loss!r}")
        if self.k is not None and not 1 <= self.k <= size:
            raise ArgumentError(f"expected `k` in 1..{size}, got {self.k}")
        if self.loss == "targeted" and self.towards is None:
            raise ArgumentError("expected `towards`, the wanted map, for the targeted loss")
        if self.towards is not None and tuple(self.towards.shape) != shape:
            raise ArgumentError(f"expected `towards` of the map's shape {shape}, got {tuple(self.towards.shape)}")
        if self.loss == "centre" and len(shape) < 2:
            raise UnfitError("expected an image for the centre loss: features in a row have no place")
        require_gradients(problem)

    def climb(self, problem: Problem, view: View, delta: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Along the gradient of the chosen loss."""
        damage = {"topk": self._drained, "centre": self._moved, "targeted": self._turned}[self.loss]
        values, slope = view.slope(lambda values: damage(values, problem), generator)
        return values, self.step(problem, delta, problem.pulled(slope))

    def _drained(self, values: Tensor, problem: Problem) -> Tensor:
        """Minus the share of the normalised map in the features that were largest."""
        default = min(100 if values.numel() <= 1000 else 1000, values.numel() // 2)
        largest = problem.reference.topk(self.k or default).indices
        drained: Tensor = -(values / values.norm().clamp(min=1e-300))[largest].sum()
        return drained

    def _moved(self, values: Tensor, problem: Problem) -> Tensor:
        """Distance between the centres of mass of the absolute maps."""
        moved: Tensor = (_centre(values, problem.shape) - _centre(problem.reference, problem.shape)).norm()
        return moved

    def _turned(self, values: Tensor, problem: Problem) -> Tensor:
        """Cosine to the wanted map."""
        assert self.towards is not None
        return differentiable_cosine(values, self.towards.flatten().double())


def _centre(values: Tensor, shape: tuple[int, ...]) -> Tensor:
    """(2,) centre of mass of |map| over the last two axes."""
    mass = values.view(shape).abs()
    mass = mass.reshape(-1, *mass.shape[-2:]).sum(dim=0)
    mass = mass / mass.sum().clamp(min=1e-300)
    rows = torch.arange(mass.shape[0], dtype=mass.dtype, device=mass.device)
    columns = torch.arange(mass.shape[1], dtype=mass.dtype, device=mass.device)
    return torch.stack([(mass.sum(dim=1) * rows).sum(), (mass.sum(dim=0) * columns).sum()])
