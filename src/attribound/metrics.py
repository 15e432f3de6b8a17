"""How alike two maps are: pure functions, one value per pair of a batch.

Maps are (B, ...) and are compared flat. Where a measure is undefined it has a defined value: two maps that carry no
information (both zero, both constant) are alike (1.0), one that does and one that does not are unrelated (0.0).
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from attribound.errors import ArgumentError


def cosine_similarity(first: Tensor, second: Tensor) -> Tensor:
    """(B,) cosine of the angle between each pair; 1.0 if both are zero, 0.0 if one is."""
    a, b = _pairs(first, second)
    norms = a.norm(dim=1) * b.norm(dim=1)
    cosine = ((a * b).sum(dim=1) / torch.where(norms == 0, 1.0, norms)).clamp(-1.0, 1.0)
    both_zero = (a == 0).all(dim=1) & (b == 0).all(dim=1)
    return torch.where(both_zero, 1.0, cosine)


def top_k_intersection(first: Tensor, second: Tensor, k: int) -> Tensor:
    """(B,) share of the k largest features that both maps have in common; ties go to the lower index."""
    a, b = _pairs(first, second)
    if not 1 <= k <= a.shape[1]:
        raise ArgumentError(f"expected `k` in 1..{a.shape[1]}, got {k}")
    marks = []
    for values in (a, b):
        order = values.argsort(dim=1, descending=True, stable=True)[:, :k]
        marks.append(torch.zeros_like(values, dtype=torch.bool).scatter_(1, order, True))
    return (marks[0] & marks[1]).sum(dim=1).double() / k


def kendall(first: Tensor, second: Tensor) -> Tensor:
    """(B,) Kendall's tau-b, in O(d log d); 1.0 if both maps are constant, 0.0 if one is."""
    a, b = (part.numpy() for part in _pairs(first, second))
    return torch.tensor([_tau_b(x, y) for x, y in zip(a, b, strict=True)], dtype=torch.float64)


def _tau_b(x: Any, y: Any) -> float:
    constant = (bool(np.all(x == x[0])), bool(np.all(y == y[0])))
    if any(constant):
        return float(all(constant))
    from scipy import stats  # takes half a second to load, and no certificate needs it

    return float(stats.kendalltau(x, y, method="asymptotic").statistic)


def make_grid(images: Tensor) -> Tensor:
    """Lay n^2 images (n^2, C, H, W) out row by row as one (C, nH, nW): the input of GridPG."""
    side = round(len(images) ** 0.5)
    if images.ndim != 4 or side * side != len(images):
        raise ArgumentError(f"expected n^2 images (n^2, C, H, W), got shape {tuple(images.shape)}")
    rows = [torch.cat(list(images[row * side : (row + 1) * side]), dim=2) for row in range(side)]
    return torch.cat(rows, dim=1)


def grid_pointing_game(attribution: Tensor, cell: int, side: int) -> float:
    """GridPG (Rao et al. 2022): the share of positive attribution that falls in the right cell of a grid.

    Args:
        attribution: (C, nH, nW) or (nH, nW), the map of a grid for the class of one of its cells.
        cell: number of that cell, row by row.
        side: n.

    Returns:
        A share in [0, 1]; 0.0 for a map without positive attribution.
    """
    values = attribution.double()
    return _share_inside((values.sum(dim=0) if values.ndim == 3 else values).clamp(min=0), cell, side)


def certified_grid_pointing_game(marks: Tensor | np.ndarray[Any, Any], cell: int, side: int) -> float:
    """Certified GridPG (Anani et al. 2025): the share of proved-hot cells that lie in the right cell of a grid.

    Args:
        marks: (nH, nW) or (1, nH, nW), `Certificate.cells` of the map of a grid: +1 proved hot, -1 proved cold, 0
            unproved.
        cell: number of the right cell of the grid, row by row.
        side: n.

    Returns:
        A share in [0, 1]; 0.0 where nothing is proved hot.
    """
    proved = torch.as_tensor(marks) > 0
    return _share_inside((proved[0] if proved.ndim == 3 and len(proved) == 1 else proved).double(), cell, side)


def _share_inside(weights: Tensor, cell: int, side: int) -> float:
    if weights.ndim != 2 or any(size % side for size in weights.shape):
        raise ArgumentError(f"expected a map that splits into {side} x {side} cells, got {tuple(weights.shape)}")
    if not 0 <= cell < side * side:
        raise ArgumentError(f"expected `cell` in 0..{side * side - 1}, got {cell}")
    height, width = (size // side for size in weights.shape)
    row, column = divmod(cell, side)
    inside = weights[row * height : (row + 1) * height, column * width : (column + 1) * width].sum()
    total = weights.sum()
    return float(inside / total) if total > 0 else 0.0


def _pairs(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    if first.shape != second.shape or first.ndim < 2:
        raise ArgumentError(
            f"expected two batches of maps of one shape, got {tuple(first.shape)}, {tuple(second.shape)}"
        )
    return first.detach().flatten(1).double().cpu(), second.detach().flatten(1).double().cpu()
