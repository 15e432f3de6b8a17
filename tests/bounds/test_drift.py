"""The cosine of two exact maps from two sampled ones: against a search, random maps and real draws."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attribound.bounds.drift import cosine_interval, tilt_most
from attribound.errors import ArgumentError
from tests.reference import drift as reference


@pytest.mark.parametrize(
    ("sampled", "radius", "lower"),
    [(1.0, 0.1, 0.0), (1.0, 0.1, 1.02), (0.5, 0.2, 0.4), (0.3, 0.4, 0.2), (0.3, 0.4, 0.65), (0.9, 0.8, 0.1)],
)
def test_tilt_is_what_a_search_finds(sampled: float, radius: float, lower: float) -> None:
    found, searched = tilt_most(sampled, radius, lower), reference.tilt_most(sampled, radius, lower)
    assert found >= searched - 1e-12
    assert found == pytest.approx(searched, abs=2e-3)


def test_tilt_where_nothing_is_known() -> None:
    assert tilt_most(0.0, 0.1) == tilt_most(0.2, 0.3) == math.pi
    assert tilt_most(0.1, 0.3, 0.15) == math.pi, "the ball holds maps of that length in every direction"
    assert tilt_most(0.2, 0.1, 0.31) == math.pi, "no map of that length is in the ball: what is known is false"
    assert tilt_most(0.2, 0.0) == 0.0


@pytest.mark.parametrize("seed", range(6))
def test_random_maps_stay_inside_and_come_close(seed: int) -> None:
    generator = np.random.default_rng(seed)
    first, second = generator.normal(size=(2, 5))
    second += first
    radii = tuple(generator.uniform(0.05, 0.4, 2))
    lowers = tuple(np.linalg.norm(one) - share for one, share in zip((first, second), radii, strict=True))
    least, most = cosine_interval(first, second, radii=radii, lowers=lowers)
    low, high = reference.cosine_extremes(first, second, radii, lowers, generator)
    assert least <= low
    assert high <= most
    assert low - least < 0.03
    assert most - high < 0.03


vectors = st.lists(st.floats(-1, 1), min_size=3, max_size=3).map(np.array).filter(lambda v: np.linalg.norm(v) > 0.05)


@given(vectors, vectors, vectors, vectors, st.floats(0, 1))
def test_the_truth_is_always_inside(first, second, step, other, part) -> None:
    """Exact maps anywhere in their balls, with any valid lower bound on their norms."""
    exact = first + step, second + other
    if min(map(np.linalg.norm, exact)) == 0:
        return
    truth = float(np.dot(*exact) / np.prod([np.linalg.norm(one) for one in exact]))
    radii = float(np.linalg.norm(step)) * (1 + 1e-12), float(np.linalg.norm(other)) * (1 + 1e-12)
    lowers = tuple(part * float(np.linalg.norm(one)) for one in exact)
    least, most = cosine_interval(first, second, radii=radii, lowers=lowers)
    assert least - 1e-9 <= truth <= most + 1e-9
    wider = cosine_interval(first, second, radii=(radii[0] * 1.5, radii[1]), lowers=lowers)
    assert wider[0] <= least + 1e-9
    assert wider[1] >= most - 1e-9


def test_equal_maps_and_opposite_ones() -> None:
    assert cosine_interval([3.0, 4.0], [3.0, 4.0], radii=(0.0, 0.0)) == pytest.approx((1.0, 1.0), abs=1e-8)
    assert cosine_interval([3.0, 4.0], [-3.0, -4.0], radii=(0.0, 0.0)) == pytest.approx((-1.0, -1.0), abs=1e-8)
    assert cosine_interval([3.0, 4.0], [0.0, 0.0], radii=(0.0, 0.0)) == (-1.0, 1.0)


def test_bad_arguments() -> None:
    with pytest.raises(ArgumentError, match=r"expected maps of one shape, got \(2,\) and \(3,\)"):
        cosine_interval([1.0, 2.0], [1.0, 2.0, 3.0], radii=(0.1, 0.1))
    with pytest.raises(ArgumentError, match="expected finite maps"):
        cosine_interval([1.0, math.nan], [1.0, 2.0], radii=(0.1, 0.1))
    with pytest.raises(ArgumentError, match="expected `radius` >= 0, got -1"):
        cosine_interval([1.0, 2.0], [1.0, 2.0], radii=(-1.0, 0.1))
