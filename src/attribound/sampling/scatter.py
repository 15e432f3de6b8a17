"""Scatter matrices: second moments of rows in one pass, and an eigenvalue that is never under-estimated.

The bound on the largest eigenvalue needs the sampled one exactly or from above: power iteration that has not
converged, or a random projection, would under-estimate it and break the certificate.
"""

import math
from abc import ABC, abstractmethod
from itertools import pairwise
from typing import final

import torch
from torch import Tensor

Device = torch.device | str

EXACT_UP_TO = 4096
"""Numbers in a map up to which the full matrix is kept (128 MB); beyond, a sketch."""

_PRODUCT_ROWS = 1024
"""Rows gathered for one matrix product: large products run at full speed."""

_ROUNDING = 1e-9
"""Allowance for rounding in float64 sums and in the eigenvalue routine, relative to the trace."""


class Scatter(ABC):
    """Collects rows y and answers: the largest eigenvalue of their mean outer product."""

    def __init__(self) -> None:
        self.count = 0
        self.trace = 0.0
        self.rounding = 0.0
        """How far rounding may have lowered the sum's largest eigenvalue."""
        self._known: float | None = None

    @final
    def add(self, rows: Tensor, square: float) -> None:
        """Add rows (n, d) whose squares sum to `square`."""
        self.count += len(rows)
        self.trace += square
        self.rounding += _ROUNDING * square
        self._known = None
        self._add(rows, square)

    @property
    def eigenvalue(self) -> float:
        """Largest eigenvalue of (1/n) sum y y^T, exact up to rounding or from above, never from below."""
        if self._known is None:
            top = min(max(self._eigenvalue(), 0.0), self.trace) if self.count else 0.0
            self._known = (top + self.rounding) / max(self.count, 1)
        return self._known

    @abstractmethod
    def _add(self, rows: Tensor, square: float) -> None:
        """Take in rows whose squares sum to `square`."""

    @abstractmethod
    def _eigenvalue(self) -> float:
        """Largest eigenvalue of the sum, exact or over-estimated."""


@final
class ExactScatter(Scatter):
    """The whole d x d matrix, as the blocks on and above its diagonal.

    Rows are divided by `unit`, about their length, so that float32 neither overflows nor loses them.
    Products of a thousand rows are float32 (half the time), their sums float64. A float32 product of n rows is off
    by at most (n + 4) 2^-24 sum |y_i||y_j| per entry, hence by that times the rows' trace in spectral norm, and so
    much is allowed for. All products are torch's own: a second BLAS library's threads would fight with the model's.
    """

    def __init__(self, dim: int, unit: float = 1.0, pieces: int = 7, device: Device = "cpu") -> None:
        super().__init__()
        self._dim, self._device = dim, torch.device(device)
        self._unit = 2.0 ** math.floor(math.log2(unit))  # dividing by a power of two rounds nothing
        self._waiting: list[Tensor] = []
        self._waiting_rows, self._waiting_square = 0, 0.0
        self._cuts = [dim * k // pieces for k in range(pieces + 1)]
        self._blocks = [
            torch.zeros(end - start, dim - start, dtype=torch.float64, device=device) for start, end in self._ranges()
        ]

    def _ranges(self) -> list[tuple[int, int]]:
        return list(pairwise(self._cuts))

    def _add(self, rows: Tensor, square: float) -> None:
        self._waiting.append((rows / self._unit).to(product_dtype()))
        self._waiting_rows += len(rows)
        self._waiting_square += square
        if self._waiting_rows >= _PRODUCT_ROWS:
            self._multiply()

    def _multiply(self) -> None:
        """Add the outer products of the waiting rows to the blocks."""
        if not self._waiting:
            return
        rows = torch.cat(self._waiting)
        lost = len(rows) * self._dim * 2.0**-120 * self._unit**2  # products below float32's smallest number
        self.rounding += (len(rows) + 4) * 2.0**-24 * self._waiting_square + lost
        with torch.autocast(self._device.type, enabled=False):
            for block, (start, end) in zip(self._blocks, self._ranges(), strict=True):
                block += rows[:, start:end].T @ rows[:, start:]
        self._waiting, self._waiting_rows, self._waiting_square = [], 0, 0.0

    def _eigenvalue(self) -> float:
        self._multiply()
        matrix = torch.zeros(self._dim, self._dim, dtype=torch.float64, device=self._device)
        for block, (start, end) in zip(self._blocks, self._ranges(), strict=True):
            matrix[start:end, start:] = block
            matrix[start:, start:end] = block.T
        return eigenvalue_from_above(matrix) * self._unit**2


@final
class SketchedScatter(Scatter):
    """Frequent directions (Liberty 2013): a few rows B with sum y y^T <= B^T B + removed * I, always.

    So the largest eigenvalue of B^T B plus what was removed is at least the true one. Memory: 2 size x d numbers in
    one place: first the principal axes of everything earlier, which are orthogonal, then the rows since.
    """

    def __init__(self, dim: int, size: int = 128, device: Device = "cpu") -> None:
        super().__init__()
        self._size = size
        self._rows = torch.empty(2 * size, dim, dtype=torch.float64, device=device)
        self._filled = 0
        self._squares = torch.zeros(0, dtype=torch.float64, device=device)
        """Squared lengths of the axes."""
        self._removed = 0.0

    def _add(self, rows: Tensor, square: float) -> None:
        while len(rows):
            if self._filled == len(self._rows):
                self._shrink()
            count = min(len(self._rows) - self._filled, len(rows))
            self._rows[self._filled : self._filled + count] = rows[:count]
            self._filled, rows = self._filled + count, rows[count:]

    def _gram(self) -> Tensor:
        """All inner products of the rows; those of axes with each other are known."""
        axes, since = self._rows[: len(self._squares)], self._rows[len(self._squares) : self._filled]
        across = since @ axes.T
        above = torch.cat([self._squares.diag(), across.T], dim=1)
        return torch.cat([above, torch.cat([across, since @ since.T], dim=1)])

    def _shrink(self) -> None:
        """Rotate to the principal axes, subtract the size-th eigenvalue from all, drop what falls to zero."""
        values, vectors = torch.linalg.eigh(self._gram())
        removed = max(float(values[-self._size]), 0.0)
        dropped = max(removed, 1e-12 * float(values[-1]))
        kept = values > dropped
        # Rows of `axes` have squared length values[kept]; axes at or below the cut are dropped whole.
        axes = vectors[:, kept].T @ self._rows[: self._filled]
        self._squares = values[kept] - removed
        self._filled = len(axes)
        torch.mul(axes, (self._squares / values[kept]).sqrt()[:, None], out=self._rows[: self._filled])
        self._removed += dropped

    def _eigenvalue(self) -> float:
        if not self._filled:
            return self._removed
        return float(torch.linalg.eigvalsh(self._gram())[-1]) + self._removed


def eigenvalue_from_above(matrix: Tensor) -> float:
    """A number at or slightly above the largest eigenvalue of a positive semidefinite matrix.

    A guess by subspace iteration, raised by a little, is *proved* to be an upper bound: guess * I - matrix has a
    Cholesky factor only if it is positive definite. Several times faster than all eigenvalues.
    """
    basis = matrix[:, :: max(len(matrix) // 8, 1)][:, :8].clone()
    for _ in range(6):
        basis = matrix @ torch.linalg.qr(basis).Q
    guess = float(torch.linalg.matrix_norm(basis, 2))
    for raised in (1.001, 1.003, 1.01, 1.05):
        difference = -matrix
        difference.diagonal().add_(raised * guess)
        if guess > 0 and int(torch.linalg.cholesky_ex(difference).info) == 0:
            return raised * guess
    return float(torch.linalg.eigvalsh(matrix)[-1])


def make_scatter(dim: int, unit: float, device: Device = "cpu") -> Scatter:
    """Exact for small maps, sketched for large ones; `unit` is about the length of the rows."""
    return ExactScatter(dim, unit, device=device) if dim <= EXACT_UP_TO else SketchedScatter(dim, device=device)


def product_dtype() -> torch.dtype:
    """float32, unless torch was told, by its older or its newer switches, that float32 products may be less precise."""
    try:
        exact = torch.get_float32_matmul_precision() == "highest"
    except RuntimeError:  # it will not answer where a newer switch was set to less than float32
        return torch.float64
    backends = torch.backends
    switches = (backends, backends.cuda.matmul, backends.mkldnn, getattr(backends.mkldnn, "matmul", None))
    exact = exact and all(getattr(one, "fp32_precision", "none") in ("none", "ieee") for one in switches)
    return torch.float32 if exact else torch.float64
