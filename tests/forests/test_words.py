"""Changes of a row in words."""

from types import SimpleNamespace

import numpy as np
import pytest

from attribound.codebook import Codebook
from attribound.forests.words import changes, interval


def test_a_threshold_just_beside_the_value_is_said() -> None:
    sheet = SimpleNamespace(columns=("years", "amount"), row=np.array([12.0, 3.0]), codebook=Codebook())
    assert changes(sheet, np.array([np.nextafter(12, 13), 3.0])) == ["years just above 12"]
    assert changes(sheet, np.array([np.nextafter(12, 11), 4.0])) == ["years just below 12", "amount 4 instead of 3"]


@pytest.mark.parametrize(
    ("values", "told"),
    [((12.0, 47.0), "from 12 to 47"), ((-np.inf, 47.0), "up to 47"), ((12.0, np.inf), "from 12 up")],
)
def test_an_interval_with_one_end_says_which_way_it_goes(values: tuple[float, float], told: str) -> None:
    assert interval(Codebook(), SimpleNamespace(name="years", value=20.0, values=values)) == told
