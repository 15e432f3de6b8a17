"""What a count of certificates says: against 40 digits, and that it covers in the worst case."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from attribound.bounds.gate import false_most, share_lower
from attribound.errors import ArgumentError
from tests.reference import gate as reference

GRID = [(n, k, alpha) for n in (1, 7, 20) for k in sorted({0, 1, n // 2, n}) for alpha in (1e-3, 0.1)]


@pytest.mark.parametrize(("inputs", "certified", "alpha"), GRID)
def test_reference(inputs: int, certified: int, alpha: float) -> None:
    for level in (0.05, 0.002):
        assert false_most(inputs, alpha, level) == reference.false_most(inputs, alpha, level)
        exact = float(reference.share_lower(certified, inputs, alpha, level))
        assert share_lower(certified, inputs, alpha, level) == pytest.approx(exact, rel=1e-8, abs=1e-12)
        assert share_lower(certified, inputs, alpha, level) <= exact


def binomial(inputs: int, chance: float) -> np.ndarray:
    return np.array([float(reference.upper_tail(k, inputs, chance)) for k in range(inputs + 2)])


@pytest.mark.parametrize("share", [0.0, 0.3, 0.77, 0.95, 1.0])
@pytest.mark.parametrize(("alpha", "level"), [(0.1, 0.1), (0.001, 0.05)])
def test_coverage_is_exact_in_the_worst_case(share: float, alpha: float, level: float) -> None:
    """Every robust input is certified and every other with probability alpha: the most that certificates may do."""
    inputs = 25
    tails = binomial(inputs, share + alpha * (1 - share))
    weights = tails[:-1] - tails[1:]
    false = [share_lower(k, inputs, alpha, level) > share for k in range(inputs + 1)]
    missed = weights[np.array(false)].sum()
    assert missed <= level + 1e-12
    if share == 0.3:
        assert missed > level / 4, "a bound that never fails would be no bound"


def test_coverage_of_both_statements_by_simulation() -> None:
    """Populations whose truth is known; a rate of 0.1 exceeds 0.1 + 4.5 standard errors with probability 4e-6."""
    generator, runs, inputs, alpha, level = np.random.default_rng(3), 4000, 30, 0.1, 0.1
    slack = 4.5 * (level * (1 - level) / runs) ** 0.5
    robust = generator.random((runs, inputs)) < 0.6
    lucky = generator.random((runs, inputs)) < alpha
    certified = (robust | lucky).sum(axis=1)
    allowed = false_most(inputs, alpha, level)
    here = np.mean([count - allowed > truth for count, truth in zip(certified, robust.sum(axis=1), strict=True)])
    there = np.mean([share_lower(int(count), inputs, alpha, level) > 0.6 for count in certified])
    assert here <= level + slack
    assert level / 5 < there <= level + slack


@given(st.integers(1, 300), st.integers(0, 300), st.floats(1e-6, 0.3), st.floats(1e-4, 0.5))
def test_more_certificates_prove_more_and_larger_alphas_less(inputs, certified, alpha, level) -> None:
    certified = min(certified, inputs)
    found = share_lower(certified, inputs, alpha, level)
    assert 0 <= found <= certified / inputs
    assert found <= share_lower(min(certified + 1, inputs), inputs, alpha, level)
    assert found >= share_lower(certified, inputs, alpha * 2, level)
    assert false_most(inputs, alpha, level) <= false_most(inputs, alpha * 2, level)
    assert false_most(inputs, alpha, level) <= inputs


def test_bad_arguments() -> None:
    with pytest.raises(ArgumentError, match=r"expected `certified` in 0\.\.3, got 4"):
        share_lower(4, 3, 0.1, 0.1)
    with pytest.raises(ArgumentError, match=r"expected `level` in \(0, 1\), got 1"):
        false_most(3, 0.1, 1.0)


def test_the_figures_of_the_page() -> None:
    """docs/theory/gate.md: all of so many certified, alpha 0.001, confidence 95 %."""
    proved = {inputs: share_lower(inputs, inputs, 1e-3, 0.05) for inputs in (12, 28, 29, 58, 59)}
    assert 0.77 <= proved[12] < 0.78
    assert proved[28] < 0.9 <= proved[29]
    assert proved[58] < 0.95 <= proved[59]


def test_a_level_chosen_on_the_same_inputs_breaks_the_second_statement() -> None:
    """docs/theory/gate.md: the best of 6 levels, each with a true share of 80 %, on 50 inputs at confidence 95 %."""
    false = next(count for count in range(51) if share_lower(count, 50, 1e-3, 0.05) > 0.8)
    each = stats.binom.sf(false - 1, 50, 0.8)
    assert each <= 0.05
    assert 1 - (1 - each) ** 6 == pytest.approx(0.26, abs=0.005)
