"""Bars in people's units: where things stand, and that nothing is drawn as proved that is not."""

import math

import pytest

from attribound.report.shared.bars import Bar
from attribound.report.shared.templating import _environment
from tests.report.conftest import EVIL


def bar(**changes) -> Bar:
    known = {"title": "turned", "text": "it holds.", "unit": "degrees", "stops": (-30, 0, 30), "zero": 0}
    return Bar(**known | {"proved": (-15, 10)} | changes)


def shown(bar: Bar) -> list[tuple[str, float, float]]:
    return [(part.kind, float(part.left), float(part.left) + float(part.width)) for part in bar.parts]


def test_each_side_of_no_change_has_its_own_scale():
    assert bar(stops=(0.5, 1, 2), zero=1).place(1.5) == 75
    assert bar(stops=(0, 2), zero=0).place(0.5) == 25
    assert [bar().place(value) for value in (-40, -30, 0, 30, 40)] == [0, 0, 50, 100, 100]


def test_parts_lie_where_their_values_do():
    found = shown(bar(broken=(-18, 12)))
    assert [one for part in found for one in part] == pytest.approx(
        ["proved", 25, 66.67, "breaks", 0, 20, "breaks", 70, 100]
    )


def test_nothing_proved_draws_nothing_and_infinite_ends_fill_the_bar():
    assert shown(bar(proved=None)) == []
    assert shown(bar(proved=(-math.inf, math.inf))) == [("proved", 0, 100)]


def test_numbers_below_do_not_run_into_each_other():
    assert [tick.text for tick in bar().ticks] == ["-30", "0", "30"]
    assert [tick.text for tick in bar(stops=(5, 100), zero=100).ticks] == ["5", "100"]
    assert [tick.text for tick in bar(stops=(958, 10500), zero=8358).ticks] == ["958", "10,500"]  # they would overlap
    assert [tick.text for tick in bar(stops=(958, 9271), zero=3573).ticks] == ["958", "3,573", "9,271"]


def test_those_who_do_not_see_get_the_same_and_texts_are_escaped():
    page = _environment().get_template("shared/templates/bars.html").module.reach(bar(text=EVIL, broken=(None, 12)))
    assert EVIL not in page
    assert "Found to break at 12 degrees. Tried from -30 to 30 degrees." in page
