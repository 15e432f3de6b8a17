"""Fields that are step functions of one Gaussian coordinate: every number about them is exact.

A cell (a_i, a_{i+1}) has probability Phi(a_{i+1}) - Phi(a_i) at x and Phi(a_{i+1} - s) - Phi(a_i - s) after a shift
of s standard deviations along the coordinate, so norms, angles and covariance are finite sums.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr


@dataclass(frozen=True)
class StepField:
    """values[i] (a vector) on the i-th cell between the inner edges."""

    edges: np.ndarray
    values: np.ndarray

    def mean(self, shift=0.0):
        # Upper tails on the right and lower tails on the left keep far cells exact.
        ends = np.concatenate([[-np.inf], self.edges, [np.inf]]) - shift
        low, high = ends[:-1], ends[1:]
        mass = np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
        return mass @ self.values

    @property
    def norm(self):
        return float(np.linalg.norm(self.mean()))

    @property
    def limit(self):
        return float(np.linalg.norm(self.values, axis=1).max())

    @property
    def eigenvalue(self):
        centred = StepField(self.edges, self.values - self.mean())
        outer = np.einsum("ij,ik->ijk", centred.values, centred.values).reshape(len(centred.values), -1)
        dim = self.values.shape[1]
        return float(np.linalg.eigvalsh(StepField(self.edges, outer).mean().reshape(dim, dim))[-1])

    def cosine(self, shift):
        before, after = self.mean(), self.mean(shift)
        return float(before @ after / (np.linalg.norm(before) * np.linalg.norm(after)))

    def displacement(self, shift):
        return float(np.linalg.norm(self.mean(shift) - self.mean()))


def random_field(rng):
    """A few cells, random vectors in the unit disc around a random common part; one of them of length 1."""
    cells = int(rng.integers(2, 9))
    edges = np.sort(rng.normal(0.0, 2.0, cells - 1))
    common = rng.uniform(0, 1) * np.array([1.0, 0.0])
    values = common + rng.uniform(0, 1) ** 2 * rng.normal(size=(cells, 2))
    return StepField(edges, values / np.linalg.norm(values, axis=1).max())


def extremal_field(norm, shift, level, *, cells=4001):
    """The worst field for the rule truncated at `level`: h + k (W - E[W]) u with W = min(L, L(level)), limit 1.

    Its covariance has the one direction u, along which Cauchy-Schwarz is an equality; k is as large as limit 1
    allows, and u leans back by the angle that the field itself turns, found by iteration.
    """
    edges = np.linspace(-9.0, level, cells - 1)
    middles = np.concatenate([[-9.0], (edges[1:] + edges[:-1]) / 2, [level]])
    w = np.exp(shift * middles - shift**2 / 2)
    ripple = w - StepField(edges, w[:, None]).mean()
    back = 0.0
    for _ in range(50):
        u = np.array([-back, np.sqrt(1 - back**2)])
        # The top value h + k ripple u must have length 1.
        along = norm * u[0]
        k = (-along + np.sqrt(along**2 + 1 - norm**2)) / ripple.max()
        field = StepField(edges, np.array([norm, 0.0]) + k * ripple[:, None] * u)
        cosine = np.clip(field.cosine(shift), 0.0, 1.0)
        back = float(np.sqrt(1 - cosine**2))
    return field
