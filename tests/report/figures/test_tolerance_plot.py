"""Figures of sheets: every bar says what is proved and how surely; what breaks another cosine is not drawn."""

import re

import msgspec
import numpy as np
import pytest
import torch

import attribound as ab
from attribound.fields.function import Function
from attribound.report.figures.tolerance_plot import _broken, _words

X = torch.zeros(1, 8, 8)


def turning(inputs: np.ndarray) -> np.ndarray:
    level = inputs.reshape(len(inputs), -1).mean(1)
    maps = np.zeros(inputs.shape)
    maps[:, 0, 0, 0], maps[:, 0, 0, 1] = np.cos(level), np.sin(level)
    return maps


@pytest.fixture(scope="module")
def sheet() -> ab.Sheet:
    def scores(inputs: np.ndarray) -> np.ndarray:
        return np.tile([1.0, 0.0], (len(inputs), 1))

    field = ab.Unit(Function(turning, scores, name="turning"))
    return ab.tolerance(field, X, [ab.Brightness(150)], cosine=(0.8, 0.9), target=0)


def test_a_break_of_a_higher_cosine_is_not_drawn_at_a_lower_one(sheet) -> None:
    record = sheet["brightness"].record
    assert record.breaks["0.8"] is None, "0.59 radians: cosine 0.83"
    assert record.breaks["0.9"] is not None
    assert _broken(record, 0.8) is None
    assert _broken(record, 0.9) == record.breaks["0.9"]
    hatched = [[bar.get_hatch() for bar in ab.plot(sheet, cosine=asked).axes[0].patches] for asked in (0.8, 0.9)]
    assert [marks[:-1].count("///") for marks in hatched] == [0, 1], "the last is the legend's"


def test_what_falls_below_a_lower_cosine_breaks_a_higher_one_too(sheet) -> None:
    record = sheet["brightness"].record
    moved = msgspec.structs.replace(record, breaks={"0.8": record.breaks["0.9"], "0.9": None})
    assert _broken(moved, 0.9) == record.breaks["0.9"]


def test_how_sure_it_is(sheet) -> None:
    record = sheet["brightness"].record
    assert _words(record, record.reach(0.8)) == "proved -150 to 150 (exact)"
    assert _words(msgspec.structs.replace(record, proof="alpha", alpha=0.001), (-1.0, 2.0)).endswith(
        "(false with probability at most 0.001)"
    )
    assert re.search("ASSUMED.*not proved", _words(msgspec.structs.replace(record, proof="assumed"), (-1.0, 2.0)))
    assert _words(record, None) == "nothing is proved"


def test_the_input_and_its_explanation_stand_beside_the_bars(sheet) -> None:
    places = ab.plot(sheet, X).axes
    assert [axes.get_title() or axes.get_title("left") for axes in places] == [
        "input",
        "its explanation",
        "How far the input may change while its explanation keeps cosine 0.8",
    ]


@pytest.mark.parametrize("wrong", [3, None, "sheet.json"])
def test_what_cannot_be_drawn_is_said_in_a_line(wrong) -> None:
    with pytest.raises(ab.AttriboundError, match="expected a certificate or a sheet about changes, got"):
        ab.plot(wrong)
