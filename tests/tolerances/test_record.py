"""Records of tolerances: what they hold, that they state no more than follows, and sheets as files."""

import dataclasses
import json

import msgspec
import numpy as np
import pytest
import torch

import attribound as ab
from attribound.certificates.sealed import encode_sealed
from attribound.errors import ArgumentError, StoredDataError
from attribound.tolerances.again import differences
from attribound.tolerances.evidence import Listed
from attribound.tolerances.packed import Packed
from attribound.tolerances.record import ToleranceRecord, decode
from attribound.tolerances.sheet_file import read_sheet, sheet_problems
from attribound.tolerances.verify import problems
from tests.tolerances.known import Add, Mirrored, Steps, Turning

X = torch.zeros(3, dtype=torch.float64)


@pytest.fixture(scope="module")
def sheet():
    field = ab.Unit(Turning(edge=22.0))
    asked = {"cosine": (0.8, 0.9), "samples": 3000, "alpha": 0.01, "seed": 3}
    return ab.tolerance(field, X, [Add(30), Mirrored(30), Steps(30)], **asked)


def again(record: ToleranceRecord, **changes) -> ToleranceRecord:
    """A forged record with a seal that fits."""
    return decode(encode_sealed(msgspec.structs.replace(record, **changes)), "forged")


@pytest.mark.parametrize("name", ["add", "mirrored", "steps"])
def test_records_survive_storage_and_prove_what_they_state(sheet, name):
    record = sheet[name].record
    stored = encode_sealed(record)
    assert len(stored) < 200_000
    assert json.loads(stored)["kind"] == "tolerance"
    read = decode(stored, name)
    assert problems(read) == []
    assert {float(k): v for k, v in read.reaches.items()} == dict(read.evidence().reaches(read.cosines, read.alpha))
    assert msgspec.structs.replace(read, seal="") == record


@pytest.mark.parametrize("name", ["add", "mirrored", "steps"])
def test_what_states_more_is_refused(sheet, name):
    record = decode(encode_sealed(sheet[name].record), name)
    left, right = record.reaches["0.8"]
    wider = {**record.reaches, "0.8": (left, right * 1.01)}
    assert any("but its facts give" in line for line in problems(again(record, reaches=wider)))
    narrower = {**record.reaches, "0.8": (left / 2, right / 2)}
    assert problems(again(record, reaches=narrower)) == []
    assert problems(again(record, class_reach=(record.class_reach[0], record.class_reach[1] + 5)))
    assert problems(again(record, draws=1))
    assert problems(again(record, fidelity=1.5))
    assert problems(msgspec.structs.replace(record, target=1)) == [
        "its seal does not fit its content: the file was changed after it was written"
    ]


def test_a_scan_may_not_spend_less_alpha_than_it_states(sheet):
    record = sheet["add"].record
    assert any("but its facts give" in line for line in problems(again(record, alpha=record.alpha / 100)))
    assert problems(again(record, proof="exact")) != []
    assert problems(again(sheet["steps"].record, proof="alpha", alpha=0.01)) != []


def test_facts_beyond_what_window_means_allow_are_refused(sheet):
    record = sheet["add"].record
    facts = record.facts
    raised = Packed.of(np.full(facts.along.shape, 0.9), "f4")
    forged = {**facts.decisions, "0.8": msgspec.structs.replace(facts.decisions["0.8"], smallest=raised)}
    assert problems(again(record, facts=msgspec.structs.replace(facts, decisions=forged))) == [
        "its facts at cosine 0.8 are more than its window means allow"
    ]
    short = msgspec.structs.replace(facts, left=facts.left + 1)
    assert "positions" in problems(again(record, facts=short))[0]


def test_breaks_are_checked(sheet):
    record = sheet["steps"].record
    inside = msgspec.structs.replace(record.breaks["0.8"], value=1.0)
    assert problems(again(record, breaks={**record.breaks, "0.8": inside})) != []


def test_the_nearest_alternative_that_fails_is_stated(sheet):
    record = sheet["steps"].record
    places, values, cosines = (getattr(record.facts, name).values() for name in ("places", "values", "cosines"))
    further = int(np.flatnonzero(places == 25)[0])
    moved = msgspec.structs.replace(record.breaks["0.8"], value=float(values[further]), cosine=float(cosines[further]))
    for hidden in (None, moved):
        assert any(
            "not the nearest" in line for line in problems(again(record, breaks={**record.breaks, "0.8": hidden}))
        )


@pytest.mark.parametrize("name", ["add", "mirrored", "steps"])
def test_range_and_window_are_those_of_the_facts(sheet, name):
    """A gate asks one side of a change with one side, and a run names the window that was asked for."""
    record = sheet[name].record
    change = msgspec.structs.replace(record.change, low=0.0, high=record.change.high / 2)
    inside = dict.fromkeys(record.reaches, (0.0, 1.0))
    forged = again(record, change=change, reaches=inside, class_reach=None)
    assert any("that its facts are not about" in line for line in problems(forged))
    if record.window is not None:
        assert any("has a window" in line for line in problems(again(record, window=record.window / 2)))


def test_kept_facts_prove_no_more_than_the_scan(sheet):
    """What a record states is what the sheet states: rounding to the safe side changes the reach by a position."""
    record = sheet["add"].record
    step = record.facts.window / record.facts.half
    truth = np.degrees(np.arccos(0.8)) / 2
    assert record.reaches["0.8"][1] <= truth
    assert step < 0.1


def test_sheets_are_saved_loaded_and_checked(sheet, tmp_path):
    path = tmp_path / "sheet.json"
    sheet.save(path)
    loaded = ab.Sheet.load(path)
    assert str(loaded) == str(sheet)
    assert loaded.words() == sheet.words()
    assert loaded["add"].breaks.label == sheet["add"].breaks.label
    assert torch.allclose(loaded["add"].shown.double(), sheet["add"].shown, atol=1e-6)
    curve = loaded["add"].curve()
    assert np.nanmin(curve.proved) == pytest.approx(np.degrees(np.arccos(0.9)))
    assert sheet_problems(read_sheet(path)) == []
    assert "<table>" in loaded._repr_html_()
    text = path.read_text()
    path.write_text(text.replace('"alpha":0.01', '"alpha":0.009', 1))
    assert any("seal" in line or "alpha" in line for line in sheet_problems(read_sheet(path)))
    stored = json.loads(path.read_text())
    stored["records"][0]["format"] = 99
    path.write_text(json.dumps(stored))
    with pytest.raises(StoredDataError, match="a record has format 99, expected"):
        read_sheet(path)
    path.write_text("{}")
    with pytest.raises(StoredDataError, match="not a sheet"):
        read_sheet(path)


def test_a_sheet_that_contradicts_itself_is_not_loaded(sheet, tmp_path):
    """Another cosine under the same head, an interval that does not follow."""
    other = ab.tolerance(ab.Unit(Turning(edge=22.0)), X, Steps(30), cosine=(0.1, 0.2), seed=3)
    mixed = ab.Sheet({"add": sheet["add"], "steps": other["steps"]}, sheet.alpha, sheet.plain)
    wider = msgspec.structs.replace(
        sheet["add"].record, reaches=dict.fromkeys(sheet["add"].record.reaches, (-30.0, 30.0))
    )
    boasting = ab.Sheet({"add": dataclasses.replace(sheet["add"], record=wider)}, sheet.alpha, sheet.plain)
    for one, message in ((mixed, "classes or cosines"), (boasting, "but its facts give")):
        one.save(tmp_path / "sheet.json")
        with pytest.raises(StoredDataError, match=f"sheet.json contradicts itself: .*{message}"):
            ab.Sheet.load(tmp_path / "sheet.json")


def test_the_same_draws_give_the_same_facts(sheet):
    field = ab.Unit(Turning(edge=22.0))
    asked = {"cosine": (0.8, 0.9), "samples": 3000, "alpha": 0.01}
    one = ab.tolerance(field, X, [Add(30), Mirrored(30)], seed=3, **asked)["add"].record
    other = ab.tolerance(field, X, [Add(30), Mirrored(30)], seed=4, **asked)["add"].record
    assert differences(sheet["add"].record.evidence(), one.evidence()) == []
    assert differences(sheet["add"].record.evidence(), other.evidence()) != []


def test_a_sheet_is_drawn(sheet):
    figure = ab.plot(sheet)
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert sum("proved" in text for text in texts) == 3
    assert figure._repr_png_()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("packed", "message"),
    [
        (Packed("f4", (2,), "!!"), "cannot be unpacked"),
        (Packed("f4", (2,), Packed.of(np.zeros(3), "f4").data), "do not fill"),
        (Packed("f4", (2**40,), ""), "of shape"),
        (Packed.of(np.array([np.nan]), "f8"), "NaN"),
    ],
)
def test_arrays_that_are_none(packed, message):
    with pytest.raises(ValueError, match=message):
        packed.values()


def test_arrays_survive_packing():
    for kind, values in (("f8", np.array([1.5, -2.0])), ("u2", np.arange(7)), ("u1", np.zeros((2, 3)))):
        found = Packed.of(values, kind).values()
        assert found.shape == values.shape
        assert (found == values).all()


@pytest.mark.parametrize(("worst", "interval"), [(100, None), (99, (100.0, 100.0)), (98, (99.0, 100.0))])
def test_no_change_is_not_called_by_the_name_of_one_that_fails(worst, interval):
    """Without compression is shown as quality 100, and quality 100 is an alternative of its own."""
    qualities = np.array([98.0, 99.0, 100.0])
    cosines = np.where(qualities == worst, 0.1, 0.95)
    known = Listed(qualities - 101, qualities, 100.0, cosines, cosines > 0.5, sizes=False, empty=False)
    assert known.reaches((0.8,), 0.0) == {0.8: interval}
    assert known.class_reach(0.0) == interval
    assert known.problems() == []


class Nowhere(Steps):
    def places(self, t):
        return torch.where(t == 3, torch.nan, t)


class Backwards(Steps):
    def shown(self, place):
        return -10 * place


class Unsaid(Add):
    def shown(self, t):
        return float("nan")


class TwoSided(Add):
    def shown(self, t):
        return abs(t)


class Nothing(Steps):
    def alternatives(self, x):
        return torch.zeros(0, dtype=torch.float64)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (Nowhere(5), "at a finite place other than 0"),
        (Backwards(5), "steps does not count its changes in order"),
        (Nothing(5), "expected at least one alternative of steps, got none"),
        (Unsaid(5), "add does not count its changes in order"),
        (TwoSided(5), "add does not count its changes in order"),
    ],
)
def test_changes_of_ones_own_that_cannot_be_counted_are_refused(change, message):
    with pytest.raises(ArgumentError, match=message):
        ab.tolerance(ab.Unit(Turning()), X, change, samples=300, alpha=0.1, seed=0)
