"""Second and fourth moments of rows along every direction at once, from above (docs/theory/moment-rule.md)."""

from abc import ABC, abstractmethod
from typing import final

import torch
from torch import Tensor

from attribound.sampling.scatter import eigenvalue_from_above, product_dtype

_BATCH_ROWS = 512
_BATCH_NUMBERS = 2**25
_PIECE = 512
"""Columns of one float32 product; the products' sums are float64."""

_EIGENVALUE = 1 + 1e-9
"""A Cholesky factor proves its matrix positive definite up to n^2 2^-53 of the diagonal, 3e-11 for n = 512."""

_FLUSHED = 1e-28
"""More than float32 loses by taking numbers below 2^-126 for zero."""


class MomentSums(ABC):
    """Takes rows and bounds the mean second and fourth moment along every unit direction."""

    count: int = 0
    """Rows taken."""

    @abstractmethod
    def add(self, rows: Tensor) -> None:
        """Take rows (n, m), float64, of length about 1 at most."""

    @abstractmethod
    def bounds(self) -> tuple[float, float]:
        """Upper bounds on the mean second and the mean fourth moment of all rows, along every unit direction."""


def moment_sums(size: int, device: torch.device) -> MomentSums:
    """The cheaper way for maps of `size` numbers."""
    return PairSums(size, device) if size * (size + 1) // 2 <= _BATCH_ROWS else BatchSums(size)


@final
class PairSums(MomentSums):
    """For small maps: the m(m + 1)/2 products of a row's entries are themselves rows, and their covariance is small.

    All rows are one batch: memory does not grow with their number.
    """

    def __init__(self, size: int, device: torch.device) -> None:
        self._first, self._second = torch.triu_indices(size, size, device=device)
        root = torch.full(self._first.shape, 2.0**0.5, dtype=torch.float64, device=device)
        self._weights = torch.where(self._first == self._second, 1.0, root)
        self._sum = torch.zeros_like(self._weights)
        self._products = torch.zeros(len(root), len(root), dtype=torch.float64, device=device)
        self._size, self._square, self._fourth = size, 0.0, 0.0

    def add(self, rows: Tensor) -> None:
        """One product of matrices."""
        pairs = rows.index_select(1, self._first) * rows.index_select(1, self._second) * self._weights
        with torch.autocast(rows.device.type, enabled=False):
            self._products.addmm_(pairs.T, pairs)
        self._sum += pairs.sum(dim=0)
        squares = rows.square().sum(dim=1)
        self._square += float(squares.sum())
        self._fourth += float(squares @ squares)
        self.count += len(rows)

    def bounds(self) -> tuple[float, float]:
        """The largest eigenvalues of the mean outer product and of the pairs' covariance."""
        mean, rounding = self._sum / self.count, (2 * self.count + 64) * 2.0**-52 / self.count
        matrix = torch.zeros(self._size, self._size, dtype=torch.float64, device=mean.device)
        matrix[self._first, self._second] = matrix[self._second, self._first] = mean / self._weights
        second = _top(matrix, rounding * self._square + _FLUSHED)
        covariance = self._products / self.count - torch.outer(mean, mean)
        return second, second**2 + _top(covariance, rounding * self._fourth + _FLUSHED)


@final
class BatchSums(MomentSums):
    """For large maps: a batch of a few hundred rows is one Gram matrix, and batches are averaged."""

    def __init__(self, size: int) -> None:
        self._rows = min(_BATCH_ROWS, max(_BATCH_NUMBERS // size, 16))
        self._waiting: list[Tensor] = []
        self._lengths: list[Tensor] = []
        self._second, self._fourth = 0.0, 0.0

    def add(self, rows: Tensor) -> None:
        """Keep rows until they fill a batch."""
        for part in rows.split(self._rows):
            self._waiting.append(part.to(product_dtype()))
            self._lengths.append(torch.linalg.vector_norm(part, dim=1))
            self.count += len(part)
            if sum(map(len, self._waiting)) >= self._rows:
                self._second, self._fourth = self._sums()
                self._waiting, self._lengths = [], []

    def bounds(self) -> tuple[float, float]:
        """Means over batches; rows still waiting count as one."""
        second, fourth = self._sums()
        return second / self.count, fourth / self.count

    def _sums(self) -> tuple[float, float]:
        if not self._waiting:
            return self._second, self._fourth
        rows, lengths = torch.cat(self._waiting), torch.cat(self._lengths)
        second, fourth = batch_moments(rows, lengths)
        return self._second + len(rows) * second, self._fourth + len(rows) * fourth


def batch_moments(rows: Tensor, lengths: Tensor) -> tuple[float, float]:
    """Upper bounds on the mean second and fourth moment of the rows along every unit direction.

    Args:
        rows: (n, m), rounded to float32 or float64.
        lengths: (n,) norms of the rows before rounding.
    """
    count, squares = len(rows), lengths.square()
    error = (min(rows.shape[1], _PIECE) + 4) * 2.0**-24
    gram = _gram(rows)
    lost = error * float(squares.sum()) + count * _FLUSHED
    second = _top(gram, lost) / count
    kernel = gram.square_()
    means = kernel.mean(dim=0)
    kernel -= means
    kernel -= (means - means.mean())[:, None]
    lost = 2 * error * (1 + error) * float(squares @ squares) + count * _FLUSHED
    lost += count * (count + 8) * 2.0**-50 * float(squares.max()) ** 2
    return second, second**2 + _top(kernel, lost) / count


def _top(matrix: Tensor, lost: float) -> float:
    """Upper bound on the largest eigenvalue of a positive semidefinite matrix known up to `lost` in trace and norm."""
    trace = float(matrix.trace())
    return (eigenvalue_from_above(matrix) * _EIGENVALUE if trace > lost else max(trace, 0.0)) + lost


def _gram(rows: Tensor) -> Tensor:
    """Inner products of the rows, float64 sums of products of a few hundred columns."""
    gram = torch.zeros(len(rows), len(rows), dtype=torch.float64, device=rows.device)
    with torch.autocast(rows.device.type, enabled=False):
        for piece in rows.split(_PIECE, dim=1):
            gram += piece @ piece.T
    return gram
