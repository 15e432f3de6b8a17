"""Second moments: exact, or never under-estimated."""

import operator

import pytest
import torch

from attribound.sampling import scatter
from attribound.sampling.scatter import (
    ExactScatter,
    SketchedScatter,
    eigenvalue_from_above,
    make_scatter,
    product_dtype,
)


def rows(count: int, dim: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    scales = torch.linspace(2.0, 0.1, dim, dtype=torch.float64)
    return torch.randn(count, dim, dtype=torch.float64, generator=generator) * scales


def reference(values: torch.Tensor) -> float:
    return float(torch.linalg.eigvalsh(values.T @ values / len(values))[-1])


@pytest.mark.parametrize("dim", [2, 3, 7, 100])
def test_exact_matches_reference_from_above(dim: int) -> None:
    values, kept = rows(500, dim), ExactScatter(dim)
    for part in values.split(128):
        kept.add(part, float(part.square().sum()))
    assert kept.count == 500
    assert kept.trace == pytest.approx(float(values.square().sum()))
    assert reference(values) <= kept.eigenvalue <= 1.01 * reference(values)


def test_float32_products_are_allowed_for() -> None:
    """Rows that differ in float32's last bits only: the allowance must cover what the products lose."""
    values = torch.full((256, 8), 1.0, dtype=torch.float64) * (1 + 2.0**-25)
    kept = ExactScatter(8)
    kept.add(values, float(values.square().sum()))
    assert kept.eigenvalue >= reference(values)


@pytest.mark.parametrize("size", [4, 16])
@pytest.mark.parametrize("seed", range(5))
def test_sketch_never_under_estimates(size: int, seed: int) -> None:
    values, kept = rows(700, 60, seed), SketchedScatter(60, size)
    for part in values.split(100):
        kept.add(part, float(part.square().sum()))
    assert reference(values) <= kept.eigenvalue <= float(values.square().sum()) / 700 * 1.0001


def test_sketch_is_close_when_few_directions_matter() -> None:
    values = rows(600, 40)
    values[:, 3:] *= 0.01
    kept = SketchedScatter(40, 16)
    kept.add(values, float(values.square().sum()))
    assert kept.eigenvalue == pytest.approx(reference(values), rel=0.01)
    assert len(kept._rows) == 32


def test_no_rows_and_zero_rows() -> None:
    for kept in (ExactScatter(5), SketchedScatter(5)):
        assert kept.eigenvalue == 0.0
        kept.add(torch.zeros(10, 5, dtype=torch.float64), 0.0)
        assert 0.0 <= kept.eigenvalue < 1e-30


@pytest.mark.parametrize("seed", range(20))
def test_eigenvalue_from_above(seed: int) -> None:
    values = rows(30, 25, seed)
    matrix = values.T @ values
    true = float(torch.linalg.eigvalsh(matrix)[-1])
    assert true <= eigenvalue_from_above(matrix) <= 1.05 * true


def test_eigenvalue_from_above_with_an_unlucky_start() -> None:
    """The start is built from columns; a matrix whose top direction they miss must still be bounded from above."""
    matrix = torch.eye(64, dtype=torch.float64)
    matrix[13, 13] = 50.0
    assert eigenvalue_from_above(matrix) >= 50.0


def test_large_inputs_are_sketched() -> None:
    assert isinstance(make_scatter(scatter.EXACT_UP_TO, 1.0), ExactScatter)
    assert isinstance(make_scatter(scatter.EXACT_UP_TO + 1, 1.0), SketchedScatter)


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1e12, 1e30])
def test_any_scale(scale: float) -> None:
    """Float32 holds squares of neither 1e-30 nor 1e30; the unit takes care of that."""
    values, kept = rows(300, 9) * scale, ExactScatter(9, unit=float(rows(300, 9).norm(dim=1).max()) * scale)
    kept.add(values, float(values.square().sum()))
    assert reference(values) <= kept.eigenvalue <= 1.01 * reference(values)


def test_lower_precision_products_are_not_used() -> None:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        kept = ExactScatter(5)
        kept.add(rows(10, 5), float(rows(10, 5).square().sum()))
        assert kept._waiting[0].dtype == torch.float64
    finally:
        torch.set_float32_matmul_precision(before)


@pytest.mark.parametrize("place", ["all", "mkldnn", "mkldnn.matmul", "cuda.matmul"])
@pytest.mark.parametrize("value", ["tf32", "ieee"])
def test_torchs_newer_switches_are_understood_too(place, value) -> None:
    """The older one raises an error once a newer one is lowered."""
    switch = torch.backends if place == "all" else operator.attrgetter(place)(torch.backends)
    if not hasattr(switch, "fp32_precision"):
        pytest.skip("this torch has no newer switches")
    before = switch.fp32_precision
    switch.fp32_precision = value
    try:
        assert product_dtype() == (torch.float32 if value == "ieee" else torch.float64)
    finally:
        switch.fp32_precision = before


def test_rows_wait_for_one_product_and_no_longer() -> None:
    kept, waiting = ExactScatter(3), []
    for _ in range(40):
        kept.add(torch.ones(100, 3), 300.0)
        waiting.append(sum(map(len, kept._waiting)))
    assert waiting == [100 * (number % 11) for number in range(1, 41)]
