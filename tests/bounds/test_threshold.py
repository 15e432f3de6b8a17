"""The search behind every certified epsilon."""

import numpy as np
import pytest

from attribound.bounds.threshold import largest_argument


def ends(count: int = 1) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((count, 1)), np.full((count, 1), 10.0)


@pytest.mark.parametrize(
    ("value", "truth"),
    [
        (lambda x: 1 - x, 0.2),
        (lambda x: np.exp(-x), -np.log(0.8)),
        (lambda x: np.where(x <= 3.7, 0.9, -1.0), 3.7),  # a step, as the moment rule's
        (lambda x: np.where(x < 1e-7, 1.0, -1.0), 1e-7),
        (lambda x: np.sqrt(np.maximum(1 - (x / 7) ** 2, 0)) - (x >= 7), 4.2),
    ],
)
def test_finds_the_crossing_from_below(value, truth):
    found = largest_argument(value, 0.8, *ends(), 1e-12)[0, 0]
    assert value(found) >= 0.8
    assert truth - 2e-12 <= found <= truth * (1 + 1e-15)


def test_where_nothing_holds_the_answer_is_the_low_end():
    assert largest_argument(lambda x: 0.5 - x, 0.8, *ends(), 1e-12)[0, 0] == 0.0


@pytest.mark.parametrize("count", [3, 1000])
def test_many_brackets_at_once(count):
    slopes = np.linspace(0.1, 2.0, count)[:, None]
    found = largest_argument(lambda x: 1 - slopes * x, 0.8, *ends(count), 1e-12)
    np.testing.assert_allclose(found, 0.2 / slopes, rtol=0, atol=3e-12)
    assert (1 - slopes * found >= 0.8).all()


def test_few_evaluations_for_what_is_smooth():
    calls = []

    def value(x):
        calls.append(x.size)
        return np.cos(x / 4)

    largest_argument(value, 0.8, *ends(), 1e-12)
    assert len(calls) <= 9


def test_what_else_is_asked_changes_no_answer():
    """A step takes more rounds than a line; each is searched with a tolerance that leaves last digits open."""

    def value(x):
        return np.where(x <= np.pi, 0.9 - x / 100, -1.0)

    wanted = np.array([[0.8999], [0.6], [0.89]])
    together = largest_argument(value, wanted, *ends(3), 1e-6)
    alone = [largest_argument(value, float(one), *ends(), 1e-6)[0] for one in wanted[:, 0]]
    np.testing.assert_array_equal(together, alone)
