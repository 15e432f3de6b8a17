"""What is said about half of the inputs must hold for half of them at once."""

import numpy as np
import pytest

from attribound.changes import Rotation
from attribound.runs.tolerance_summary import ChangeSummary
from attribound.tolerances.answer import inward
from attribound.tolerances.record import ChangeRecord

CHANGE = ChangeRecord("rotation", "rotation:10", "degrees", "made", False, True, -10.0, 0.0, 10.0)


def test_ends_of_different_inputs_are_not_put_together():
    known = [(-10.0, 1.0), (-10.0, 1.0), (-1.0, 10.0), (-1.0, 10.0), (0.0, 0.0)]
    left, right = ChangeSummary(CHANGE).shared(known)
    assert (left, right) == (-1.0, 1.0)


@pytest.mark.parametrize("count", [1, 2, 7, 350])
def test_half_of_all_inputs_are_proved_for_all_of_it(count):
    generator = np.random.default_rng(count)
    known = [(-float(left), float(right)) for left, right in generator.uniform(0, 10, (count, 2))]
    known += [None] * (count // 4)
    left, right = ChangeSummary(CHANGE).shared(known)
    inside = sum(one is not None and one[0] <= left and one[1] >= right for one in known)
    assert 2 * inside >= len(known)
    assert left < 0 < right


def test_nothing_is_shared_if_most_failed():
    assert ChangeSummary(CHANGE).shared([(-1.0, 1.0), None, None]) is None
    assert ChangeSummary(CHANGE).shared([]) is None


def test_the_last_position_is_the_end_of_the_range_and_others_are_rounded_inward():
    rotation = Rotation(30)
    assert [inward(rotation, t) for t in (-29.999999999999996, 0.0, 29.999999999999996, 31.0)] == [-30, 0, 30, 30]
    assert -20 < inward(rotation, -20.0) < -19.999
    assert 29.9 < inward(rotation, 29.99) < 29.99
