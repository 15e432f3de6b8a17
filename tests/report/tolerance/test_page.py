"""The page of tolerances: what it says, what it must not say, and how large it is."""

import re
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

from attribound.certificates.record import Failure
from attribound.cli import run as command
from attribound.report.page import write_report
from attribound.report.tolerance import cards
from attribound.report.tolerance.page import render
from attribound.report.tolerance.rows import broken_sides, status
from attribound.report.tolerance.words import amount, reach
from attribound.runs import Store
from attribound.runs.tasks import Outcome
from attribound.tolerances.evidence import Listed
from attribound.tolerances.record import BreakRecord, ChangeRecord, ToleranceRecord
from attribound.tolerances.strip import FRAMES, Strip
from tests.report.conftest import EVIL


def change(low: float, zero: float, high: float, unit: str = "degrees") -> ChangeRecord:
    return ChangeRecord("name", "spec", unit, "made", False, False, low, zero, high)


@pytest.mark.parametrize(
    ("described", "interval", "words"),
    [
        (change(-30, 0, 30), (-11.28, 12.49), "holds from -11.2 to 12.4 degrees"),
        (change(-30, 0, 30), (-30, 30), "holds from -30 to 30 degrees (the whole range tried)"),
        (change(0.5, 1, 2, "times"), (0.731, 1.289), "holds from 0.74 to 1.28 times"),
        (change(5, 100, 100, "quality"), (17, 100), "holds down to quality 17"),
        (change(0, 0, 2, "pixels"), (0, 1.239), "holds up to 1.23 pixels"),
        (change(0, 0, 1, "flips"), (0, 1), "holds"),
        (change(0, 0, 1, "flips"), (0, 0), "does not hold"),
        (change(-9, 0, 9), (0, 0), "does not hold even for the smallest change that was tried"),
        (change(-9, 0, 9), None, "nothing is proved, not even without a change"),
    ],
)
def test_reaches_are_told_in_peoples_units_and_rounded_inward(described, interval, words):
    assert reach(described, interval) == words


def test_sizes_and_amounts_in_words():
    assert reach(change(-3, 0, 3, "pixels"), (-2, 2), sizes=True) == "holds up to 2 pixels in any direction"
    assert [amount(change(5, 100, 100, "quality"), value) for value in (17, 100)] == ["quality 17", "unchanged"]


def pictures(path, item=0):
    with Store.read_any(path) as store:
        return store.pictures(item), {one.part: one for one in store.only(ToleranceRecord) if one.item == item}


def test_runs_keep_strips_with_the_input_itself_among_the_frames(tolerated):
    kept, records = pictures(tolerated)
    for name, record in records.items():
        strip = Strip.read(kept, name)
        middle = int(np.flatnonzero(strip.values == record.change.zero)[0])
        assert 2 <= len(strip.values) <= FRAMES
        assert np.array_equal(strip.inputs[middle] / 255, np.round(kept["input"] * 255) / 255)
        assert strip.classes[middle] == record.prediction
        assert strip.cosines[middle] > 0.95
        assert (strip.values[-1], strip.values[0]) == (record.change.high, 0 if record.sizes else record.change.low)
    exact = Strip.read(kept, "brightness")
    assert exact.maps[4] == pytest.approx(kept["plain"][0], abs=1e-6)


def test_frames_of_scanned_changes_are_means_over_windows(tolerated):
    """Far out the map of the frame itself has turned further than the mean that the claim is about."""
    kept, records = pictures(tolerated)
    strip, record = Strip.read(kept, "rotation"), records["rotation"]
    scan = record.evidence().scan
    sampled = np.cos(np.radians(scan.angles))
    assert strip.cosines[[0, -1]] == pytest.approx(sampled[[0, -1]], abs=0.05)


@pytest.mark.parametrize("flaw", ["said", "strip", "strip-map"])
def test_a_broken_strip_is_no_strip(flaw, tolerated):
    kept, _ = pictures(tolerated)
    name = {"said": "strip-said:rotation"}.get(flaw, f"{flaw}:rotation")
    for spoilt in (kept[name][:2], kept[name].ravel(), np.full_like(kept[name], np.nan)):
        if flaw == "said" or len(spoilt.shape) == 1 or len(spoilt) == 2:
            assert Strip.read(kept | {name: spoilt}, "rotation") is None


def test_status_of_a_frame_follows_from_what_is_proved_only(tolerated):
    record = pictures(tolerated)[1]["brightness"]
    assert status(record, "0.5", 0) == "proved"
    silent = msgspec.structs.replace(record, reaches={"0.5": None}, breaks={"0.5": None})
    assert {status(silent, "0.5", value) for value in (-4, 0, 4)} == {"open"}


def test_where_all_were_tried_both_sides_are_known_to_break():
    values = np.array([-2.0, -1, 1, 2, 3])
    facts = Listed(values, values, 0.0, np.array([0.1, 0.9, 0.9, 0.2, 0.9]), values > 0, sizes=False, empty=False)
    record = SimpleNamespace(
        breaks={"0.5": BreakRecord(-2, "", 0.1)}, reaches={"0.5": (-1, 1)}, evidence=lambda: facts, proof="exact"
    )
    assert broken_sides(record, "0.5") == (-2, 2)
    assert [status(record, "0.5", value) for value in (-2, -1, 0, 1, 2, 3)] == [
        *("breaks", "proved", "proved", "proved", "breaks", "breaks")
    ]


def test_the_page_is_whole_small_and_says_the_verdict_first(tolerated, tmp_path):
    out = write_report(tolerated, tmp_path / "page.html")
    text = out.read_text(encoding="utf-8")
    assert out.stat().st_size < 600_000
    assert not re.findall(r"""(?:src|href)=["'](?!data:|#)|url\((?!data:|#)""", text)
    start = text[text.index('id="verdict"') :]
    survives = "at least half of the 2 pictures provably survives each of the 3 changes (not always the same half): "
    assert f"{survives}turned right or left (from" in start[:2000]
    assert text.count('type="range"') == 6
    assert "Nothing counts as proved" not in text
    assert "--change rotation:10 --change brightness:4 --change shift:1" in text


def changed_run(source, path, change, **notes):
    """A copy of a run, every outcome changed by a function."""
    with Store.read_any(source) as store:
        config, kept = store.config, {item: store.pictures(item) for item in store.done()}
        outcomes = [change(Outcome(one.item, one, kept[one.item])) for one in store.only(ToleranceRecord)]
    with Store.create(path, config) as store:
        for outcome in outcomes:
            store.add(outcome)
        for key, value in notes.items():
            store.note(key, value)
    return path


def page_of(path) -> str:
    with Store.read_any(path) as store:
        return render(store)


def test_forged_records_count_as_nothing_and_names_are_escaped(tolerated, tmp_path):
    def forge(outcome):
        stated = dict.fromkeys(outcome.record.reaches, (-10.0, 10.0))
        if outcome.record.part != "rotation" or outcome.item:
            return outcome
        return Outcome(0, msgspec.structs.replace(outcome.record, reaches=stated), outcome.pictures)

    text = page_of(changed_run(tolerated, tmp_path / "forged", forge, classes=[EVIL] * 10))
    assert "1 record is doubtful and counts as proving nothing: item 0, rotation." in text
    assert "Nothing counts as proved:" in text
    assert EVIL not in text
    assert 'class="verdict warning"' in text


def test_failures_and_runs_without_pictures(tolerated, tmp_path):
    def fail(outcome):
        if outcome.record.part == "shift":
            return Outcome(outcome.item, Failure(item=outcome.item, part="shift", message=EVIL))
        return Outcome(outcome.item, outcome.record)

    text = page_of(changed_run(tolerated, tmp_path / "bare", fail))
    assert "at least half of the 2 inputs" in text
    assert "2 of 2 changes" not in text
    assert 'type="range"' not in text
    assert EVIL not in text


def test_frames_keep_to_their_budget(tolerated, monkeypatch):
    with Store.read_any(tolerated) as store:
        known = {0: {}}
        monkeypatch.setattr(cards, "_CHARACTERS", 1)
        noisy = np.random.default_rng(0).uniform(0, 1, (3, 224, 224))
        frames = np.random.default_rng(1).uniform(0, 255, (9, 3, 112, 112)).round()
        said = np.stack([np.arange(9), np.zeros(9), np.ones(9)], axis=1)
        strip = Strip(said[:, 0], said[:, 1], said[:, 2], frames, frames[:, 0, ::4, ::4])
        kept = {"input": noisy, "plain": noisy[0, :28, :28], **strip.kept("rotation")}
        monkeypatch.setattr(Store, "pictures", lambda store, item: kept)
        record = next(one for one in store.only(ToleranceRecord) if one.part == "rotation")
        known[0]["rotation"] = cards.Proved(record)
        (card,) = cards.make_cards(store, known, {})
    sizes = [len(frame[key]) for frame in card.rows[0].frames for key in ("picture", "map")]
    assert len(sizes) == 18
    assert max(sizes) < 4_000


def test_report_at_the_command_line(tolerated, tmp_path, capsys):
    assert command(["report", str(tolerated), "--out", str(tmp_path / "page.html")]) == 0
    assert "open it in a browser" in capsys.readouterr().out
    for words in (["--audience", "auditor"], ["--scan", str(tmp_path / "scan.json")]):
        (tmp_path / "scan.json").write_text('{"levels": [], "accuracy": 1, "cosine": 0.8}')
        assert command(["report", str(tolerated), *words, "--out", str(tmp_path / "other.html")]) == 2
        lines = capsys.readouterr().err.strip().splitlines()
        assert len(lines) == 1
        assert "is a run of tolerances" in lines[0]
    assert not (tmp_path / "other.html").exists()
