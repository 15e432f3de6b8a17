"""What a tolerance says, in words."""

import pytest

from attribound.tolerances.evidence import Interval
from attribound.tolerances.words import interval_text


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        ((0.4, 2.5), "0.4 to 2.5"),
        ((0.4000001, 2.4999999), "0.41 to 2.49"),
        ((-16.666666666666664, 20.0), "-16.66 to 20"),
        ((-102.0, 102.0), "-102 to 102"),
        (None, "none"),
    ],
)
def test_ends_are_rounded_inward_but_not_from_what_people_typed(interval: Interval, text: str) -> None:
    assert interval_text(interval) == text
