import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from attribound.bounds import order_kept, sign_kept, top_k_overlap
from tests.reference import brute

relaxed = settings(deadline=None, database=None, derandomize=True, max_examples=60)


def small_maps(count, seed, low=2, high=6):
    """Random maps; every third on a coarse grid, so that values tie."""
    rng = np.random.default_rng(seed)
    for case in range(count):
        values = rng.normal(size=rng.integers(low, high + 1))
        yield rng, np.round(values * 2) / 2 if case % 3 == 0 else values


def test_top_k_is_exact_in_few_dimensions():
    seen = set()
    for rng, values in small_maps(150, seed=0):
        k, radius = int(rng.integers(1, values.size + 1)), rng.uniform(0, 2.5)
        certified = top_k_overlap(values, k, radius)
        assert certified == brute.smallest_overlap(values, k, radius)
        seen.add(k - certified)
    assert seen == {0, 1, 2, 3}


def test_just_below_and_above_each_swap():
    for _, values in small_maps(20, seed=1, low=6, high=8):
        for k in (1, 2, 3, 4):
            descending = np.sort(values)[::-1]
            for j in range(1, min(k, values.size - k) + 1):
                cost, _ = brute.swap_cost(descending[k - j : k], descending[k : k + j])
                if cost > 1e-6:
                    assert top_k_overlap(values, k, np.sqrt(cost) * (1 - 1e-6)) > k - j
                assert top_k_overlap(values, k, np.sqrt(cost) * (1 + 1e-6)) <= k - j


def test_no_random_displacement_beats_top_k():
    # Random directions, and directions that lower the top and raise the rest.
    for rng, values in small_maps(150, seed=2, high=12):
        k, radius = int(rng.integers(1, values.size + 1)), rng.uniform(0, 2)
        certified = top_k_overlap(values, k, radius)
        top = np.argsort(-values)[:k]
        lean = np.ones(values.size)
        lean[top] = -1
        for push in (0.0, 1.0):
            steps = push * lean * rng.random((40, values.size)) + rng.normal(0, 0.5, (40, values.size))
            steps *= radius / np.linalg.norm(steps, axis=1, keepdims=True)
            for step in steps:
                assert brute.overlap_after(values, values + step, k) >= certified


def test_a_displacement_reaches_the_certified_overlap():
    # Bring the j smallest of the top to the common level t and the j largest of the rest up to it.
    for rng, values in small_maps(200, seed=3, low=4, high=30):
        k, radius = int(rng.integers(1, values.size)), rng.uniform(0.3, 3)
        j = k - top_k_overlap(values, k, radius)
        order = np.argsort(-values, kind="stable")
        out, into = order[k - j : k], order[k : k + j]
        if j == 0:
            continue
        _, t = brute.swap_cost(values[out], values[into])
        moved = values.copy()
        moved[out], moved[into] = np.minimum(values[out], t), np.maximum(values[into], t)
        assert np.linalg.norm(moved - values) <= radius * (1 + 1e-9)
        moved[out] -= 1e-9
        assert brute.overlap_after(values, moved, k) == k - j


def test_top_k_by_hand():
    # One swap costs gap / sqrt(2); two swaps bring 4 numbers to their mean.
    assert top_k_overlap([3.0, 1.0, 0.0], 1, np.sqrt(2) * 0.999) == 1
    assert top_k_overlap([3.0, 1.0, 0.0], 1, np.sqrt(2) * 1.001) == 0
    values = [4.0, 3.0, 1.0, 0.0]  # mean 2, squares 4 + 1 + 1 + 4
    assert top_k_overlap(values, 2, np.sqrt(10) * 0.999) == 1
    assert top_k_overlap(values, 2, np.sqrt(10) * 1.001) == 0


def test_ties_are_lost():
    assert top_k_overlap([2.0, 1.0, 1.0, 0.0], 2, 0.0) == 1
    assert top_k_overlap([1.0, 1.0, 1.0, 1.0], 2, 0.0) == 0
    assert top_k_overlap([2.0, 2.0, 1.0, 1.0], 2, 0.0) == 2


def test_the_ends_of_top_k():
    values = np.random.default_rng(4).normal(size=(3, 4, 5))
    assert top_k_overlap(values, 60, 1e9) == 60  # all of them stay among all
    assert top_k_overlap(values, 59, 1e9) == 58  # only one other can come in
    assert top_k_overlap(values, 20, 1e9) == 0
    assert [top_k_overlap(values, k, 0.0) for k in (1, 10, 59)] == [1, 10, 59]
    assert top_k_overlap([5.0], 1, 100.0) == 1
    assert type(top_k_overlap(values, 5, 0.1)) is int


@relaxed
@given(st.integers(0, 10**6), st.integers(1, 300), st.floats(0, 3), st.floats(0, 3), st.floats(-1e3, 1e3))
def test_top_k_falls_with_displacement_and_ignores_order_and_offset(seed, k, first, second, offset):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=300)
    near, far = (top_k_overlap(values, k, radius) for radius in sorted([first, second]))
    assert far <= near <= k
    assert top_k_overlap(rng.permutation(values).reshape(10, 30), k, first) == top_k_overlap(values, k, first)
    # An offset rounds the values by 1e-13; a threshold is that close to the radius with probability 1e-10.
    assert top_k_overlap(values + offset, k, first) == top_k_overlap(values, k, first)


def test_signs():
    kept = sign_kept([[0.5, -0.5], [0.49, 0.0]], 0.49)
    np.testing.assert_array_equal(kept, [[True, True], [False, False]])
    np.testing.assert_array_equal(sign_kept([1e-300, -1e-300, 0.0], 0.0), [True, True, False])


def test_signs_are_exact():
    # The shortest way to change feature i's sign (or to reach 0, which has none) is along i alone.
    values = np.random.default_rng(5).normal(size=50)
    for radius in (0.1, 0.7, 2.0):
        np.testing.assert_array_equal(
            sign_kept(values, radius), np.sign(values - radius * np.sign(values)) == np.sign(values)
        )


def test_order():
    assert order_kept(2.0, 1.0, 0.999 / np.sqrt(2)) is True
    assert order_kept(2.0, 1.0, 1.001 / np.sqrt(2)) is False
    assert order_kept(1.0, 2.0, 0.0) is False
    assert order_kept(1.0, 1.0, 0.0) is False
    np.testing.assert_array_equal(order_kept([3.0, 1.0], 0.0, [1.0, 1.0]), [True, False])


@relaxed
@given(st.floats(-5, 5), st.floats(-5, 5), st.floats(0, 5), st.floats(0, 2 * np.pi))
def test_no_displacement_beats_the_order(first, second, radius, angle):
    if order_kept(first, second, radius):
        assert first + radius * np.cos(angle) > second + radius * np.sin(angle)
    else:  # and the worst one, down and up by the same amount, does
        assert first - radius / np.sqrt(2) <= second + radius / np.sqrt(2) + 1e-12
