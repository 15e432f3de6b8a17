"""Changes of a row in words."""

from types import SimpleNamespace

import numpy as np

from attribound.codebook import Codebook
from attribound.forests.words import changes


def test_a_threshold_just_beside_the_value_is_said() -> None:
    sheet = SimpleNamespace(columns=("years", "amount"), row=np.array([12.0, 3.0]), codebook=Codebook())
    assert changes(sheet, np.array([np.nextafter(12, 13), 3.0])) == ["years just above 12"]
    assert changes(sheet, np.array([np.nextafter(12, 11), 4.0])) == ["years just below 12", "amount 4 instead of 3"]
