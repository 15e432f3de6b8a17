"""Runs of tolerances at the command line."""

import json
import re

import numpy as np
import pytest
from msgspec.structs import replace
from PIL import Image

from attribound.changes.base import Continuous
from attribound.changes.registry import register_change
from attribound.cli import run
from attribound.errors import ArgumentError
from attribound.runs import Store
from attribound.runs.engines import Local
from attribound.runs.kinds import kind_of
from attribound.runs.proving import Proved, prove_tolerances
from attribound.runs.records import encode
from attribound.runs.runner import run as carry_out
from attribound.runs.tolerance_gate import AskedReach, wanted_interval
from attribound.runs.tolerance_setup import prepare_tolerances
from attribound.runs.tolerance_summary import summarise_tolerances
from attribound.tolerances.record import ChangeRecord, ToleranceRecord
from attribound.tolerances.verify import problems
from tests.runs.elsewhere import ELSEWHERE

BASE = ["tolerance", "--model", "mnist-cnn-noise", "--data", "mnist-sample", "--items", "2", "--workers", "1"]
ASKED = ["--change", "rotation:10", "--change", "brightness:4", "--cosine", "0.5", "--cosine", "0.7"]
SMALL = [*BASE, *ASKED, "--samples", "200", "--json"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("tolerances") / "run"
    assert run([*SMALL, "--out", str(path)]) == 0
    return path


def printed(capsys, *words, code=0):
    capsys.readouterr()
    assert run([*map(str, words), "--json"]) == code
    return json.loads(capsys.readouterr().out)


def refused(capsys, *words):
    """The one line of a refusal."""
    capsys.readouterr()
    assert run([*map(str, words)]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1, lines
    return lines[0]


def records(path):
    with Store.read_any(path) as store:
        return {(one.item, one.part): replace(one, seconds=0.0, seal="") for one in store.only(ToleranceRecord)}


def test_a_record_per_input_and_change(folder, capsys):
    known = records(folder)
    assert set(known) == {(item, part) for item in (0, 1) for part in ("rotation", "brightness")}
    assert known[0, "rotation"].alpha == 0.001
    assert known[0, "brightness"].proof == "exact"
    shown = printed(capsys, "show", folder)
    assert shown["changes"]["brightness"]["inputs"] == 2
    assert run(["show", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "grey levels" in out
    assert "at least half of the inputs counted reach each end" in out
    with Store.read_any(folder) as store:
        assert {"input", "plain", "shown:rotation"} <= set(store.pictures(0))


def test_export(folder, capsys):
    rows = printed(capsys, "export", folder, "--format", "json")["records"]
    assert len(rows) == 4
    assert set(rows[0]["reaches"]) == {"0.5", "0.7"}
    capsys.readouterr()
    assert run(["export", str(folder), "--format", "csv"]) == 0
    assert "change.name" in capsys.readouterr().out.splitlines()[0]
    assert run(["export", str(folder), "--format", "latex"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == r"input & change & unit & cosine 0.5 & cosine 0.7 & class stays & proof \\"
    assert lines[4].startswith("0 & brightness & grey levels & -4 to 4 & ")
    assert lines[5].endswith(r" & alpha 0.001 \\")
    assert len(lines) == 10


def test_verify_makes_records_again(folder, capsys):
    found = printed(capsys, "verify", folder, "--resample", "2")
    assert found["passed"], found
    assert (found["records"], found["resampled"]) == (4, 2)


def test_a_forged_record_is_found_and_proves_nothing(folder, tmp_path, capsys):
    assert run(["copy", str(folder), str(tmp_path / "copy")]) == 0
    with Store.append(tmp_path / "copy") as store:
        record = store.record(0, "rotation")
        text = encode(replace(record, reaches=dict.fromkeys(record.reaches, (-10.0, 10.0)))).decode()
        store._connection.execute("UPDATE records SET record = ? WHERE item = 0 AND part = 'rotation'", (text,))
        store._connection.commit()
    found = printed(capsys, "verify", tmp_path / "copy", code=1)
    assert "but its facts give" in found["problems"]["0"][0]
    gated = printed(
        capsys, "gate", tmp_path / "copy", "--change", "rotation", "--reach", 1, "--cosine", 0.5, "--share", 0, code=0
    )
    assert gated["counts"]["doubtful"] == 1


@pytest.mark.parametrize("alpha", [1.0, 5.0, -1.0])
def test_an_absurd_alpha_of_one_record_does_not_close_the_gate_with_an_error(folder, tmp_path, capsys, alpha):
    """What a gate says of all records together is computed from the largest alpha."""
    assert run(["copy", str(folder), str(tmp_path / "copy")]) == 0
    with Store.append(tmp_path / "copy") as store:
        text = encode(replace(store.record(0, "brightness"), alpha=alpha)).decode()
        store._connection.execute("UPDATE records SET record = ? WHERE item = 0 AND part = 'brightness'", (text,))
        store._connection.commit()
    asked = ["--change", "brightness", "--reach", 2, "--cosine", 0.5, "--share", 0.5]
    gated = printed(capsys, "gate", tmp_path / "copy", *asked)
    assert (gated["counts"], gated["alpha"]) == ({"doubtful": 1, "certified": 1}, 0.0)


def test_a_record_with_another_window_does_not_belong_to_its_run(folder, tmp_path):
    """An honest scan, but with windows that its run did not ask for: they make reach out of nothing."""
    assert run([*SMALL, "--window", "rotation:5", "--out", str(tmp_path / "wide")]) == 0
    with Store.read_any(folder) as narrow, Store.read_any(tmp_path / "wide") as wide:
        for one, other in ((narrow, wide), (wide, narrow)):
            record = one.record(0, "rotation")
            assert prove_tolerances.foreign(record, one.config) == []
            assert any(
                "which its run did not ask for" in line for line in prove_tolerances.foreign(record, other.config)
            )
        wide_config = replace(wide.config, windows={"rotation": 2.0})
        forged = replace(wide.record(0, "rotation"), window=2.0, seal="")
        assert prove_tolerances.foreign(forged, wide_config) == ["has no seal"]
        assert problems(forged) == ["has a window 2.0 of share 0.5"], "a narrow window stated over facts of a wide one"


def test_alpha_is_shared_by_all_that_is_scanned(folder, tmp_path, capsys):
    """A run that says that fewer changes are scanned than have records would spend more than its alpha."""
    assert run(["copy", str(folder), str(tmp_path / "copy")]) == 0
    with Store.append(tmp_path / "copy") as store:
        store._put("config", replace(store.config, scanned=0).to_json())
        store._connection.commit()
    found = printed(capsys, "verify", tmp_path / "copy", code=1)
    assert "is scanned, but its run shares alpha among 0 other changes" in json.dumps(found)


def test_deleted_inputs_are_missed_and_repeated_ones_are_said(folder, tmp_path, capsys):
    assert run(["copy", str(folder), str(tmp_path / "fewer")]) == 0
    assert run(["copy", str(folder), str(tmp_path / "twice")]) == 0
    with Store.append(tmp_path / "fewer") as store:
        store._connection.execute("DELETE FROM records WHERE item = 1")
        store._put("inputs", 1)
        store._connection.commit()
    found = printed(capsys, "verify", tmp_path / "fewer", code=1)
    assert "it says that it has 1 inputs, its configuration asks for 2" in json.dumps(found)
    with Store.append(tmp_path / "twice") as store:
        for part in ("rotation", "brightness"):
            known = store.record(0, part)
            text = encode(replace(known, item=1, subject=replace(known.subject, item=1))).decode()
            store._connection.execute("UPDATE records SET record = ? WHERE item = 1 AND part = ?", (text, part))
        store._connection.commit()
    assert "several records are about the same input" in json.dumps(printed(capsys, "verify", tmp_path / "twice"))


def test_the_gate(folder, capsys):
    asked = ["--cosine", 0.5, "--share", 0.9]
    passed = printed(capsys, "gate", folder, "--change", "brightness", "--reach", 2, *asked)
    assert passed["passed"]
    assert passed["alpha"] == 0
    assert "rotation, brightness" in refused(capsys, "gate", folder, "--change", "roation", "--reach", 2, *asked)
    assert "did you mean 'rotation'" in refused(capsys, "gate", folder, "--change", "roation", "--reach", 2, *asked)
    assert "range that was tried" in refused(capsys, "gate", folder, "--change", "rotation", "--reach", 20, *asked)
    assert "--epsilon for certificates" in refused(capsys, "gate", folder, "--change", "rotation", *asked)
    beyond = ["--change", "rotation", "--reach", 1, "--cosine", 0.9, "--share", 0.9]
    assert "that the run asked for" in refused(capsys, "gate", folder, *beyond)
    assert "tolerances" in refused(capsys, "gate", folder, "--epsilon", 0.1, *asked)


@pytest.mark.parametrize(
    ("low", "zero", "high", "reach", "wanted"),
    [(-30, 0, 30, 10, (-10, 10)), (5, 100, 100, 30, (30, 100)), (0, 0, 2, 1, (0, 1)), (0.5, 1, 2, 1.6, (0.625, 1.6))],
)
def test_what_a_reach_asks_for(low, zero, high, reach, wanted):
    change = ChangeRecord("name", "spec", "unit", "made", False, False, low, zero, high)
    assert wanted_interval(change, reach) == wanted


@pytest.mark.parametrize(
    ("low", "zero", "high", "reach"), [(5, 100, 100, 150), (5, 100, 100, 4), (-30, 0, 30, 31), (0, 0, 2, 2.1)]
)
def test_a_gate_asks_for_what_was_tried(folder, low, zero, high, reach):
    """Above the best quality there is nothing that could fail."""
    record = records(folder)[0, "brightness"]
    change = ChangeRecord("name", "spec", "unit", "made", False, False, low, zero, high)
    proved = Proved(replace(record, change=change, reaches={"0.5": (float(low), float(high))}))
    with pytest.raises(ArgumentError, match="within the range that was tried"):
        AskedReach(share=1.0, cosine=0.5, change="name", reach=reach).short_of(proved)


def test_compare_says_whose_reach_shrank(folder, tmp_path, capsys):
    found = printed(capsys, "compare", folder, folder)
    assert found["counts"] == {"shrank": 0, "same": 8, "grew": 0}
    assert run(["copy", str(folder), str(tmp_path / "less")]) == 0
    with Store.append(tmp_path / "less") as store:
        for item, part, stated in ((0, "brightness", (-1.0, 1.0)), (0, "rotation", (-10.0, 10.0))):
            record = store.record(item, part)
            text = encode(replace(record, reaches=dict.fromkeys(record.reaches, stated))).decode()
            update = "UPDATE records SET record = ? WHERE item = ? AND part = ?"
            store._connection.execute(update, (text, item, part))
        store._connection.commit()
    found = printed(capsys, "compare", folder, tmp_path / "less", "--out", tmp_path / "page.html")
    doubtful = [(pair["items"][0], pair["change"]) for pair in found["pairs"] if pair["doubtful"]]
    assert doubtful == [(0, "rotation")] * 2
    lines = [pair for pair in found["pairs"] if pair["verdict"] == "shrank" and not pair["doubtful"]]
    assert [pair["change"] for pair in lines] == ["brightness"] * 2
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.index("-4 to 4 grey levels") < page.index("-1 to 1 grey levels")
    assert "a record is doubtful and counts as proving nothing" in page
    capsys.readouterr()
    assert run(["compare", str(folder), str(tmp_path / "less"), "--format", "md"]) == 0
    shown = capsys.readouterr().out
    assert "| 0 | brightness | 0.5 | -4 to 4 | -1 to 1 | grey levels | shrank |  |" in shown


def test_interrupted_runs_resume_with_the_same_records(folder, tmp_path):
    with Store.read_any(folder) as store:
        config = store.config
    _, job = prepare_tolerances(config)
    done = []
    state = carry_out(job, tmp_path / "run", Local(1), stop=lambda: len(done) > 1, progress=done.append)
    assert 0 < state.done < 4
    state = carry_out(job, tmp_path / "run", Local(1))
    assert state.begun_with > 0
    assert state.done == 4
    assert records(tmp_path / "run") == records(folder)
    with Store.read_any(tmp_path / "run") as store, Store.read_any(folder) as whole:
        for item in (0, 1):
            mine, theirs = store.pictures(item), whole.pictures(item)
            assert {"strip:rotation", "strip-map:brightness"} <= set(mine)
            assert all(np.array_equal(mine[name], theirs[name]) for name in mine | theirs)


def test_a_bad_input_becomes_a_failure(tmp_path, capsys):
    images = (np.random.default_rng(0).integers(0, 256, (2, 28, 28)) / 255).astype(np.float32)
    images[1] = np.nan
    np.savez(tmp_path / "flawed.npz", images=images)
    words = ["--model", "mnist-cnn-noise", "--data", f"npz:{tmp_path / 'flawed.npz'}", "--workers", "1"]
    shown = printed(capsys, "tolerance", *words, "--change", "brightness:2", "--out", tmp_path / "run")
    assert shown["errors"] == 1
    assert shown["messages"][0]["change"] == "brightness"
    assert re.search("NaN", shown["messages"][0]["message"])


def test_what_is_about_certificates_refuses_in_one_line(folder, capsys):
    for words in (
        ["report", folder, "--audience", "auditor"],
        ["attack", folder, "--method", "ifia"],
        ["export", folder, "--format", "model-card"],
    ):
        assert "is a run of tolerances" in refused(capsys, *words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--change", "rotaton:30"], "did you mean 'rotation'"),
        (["--change", "rotation:-3"], "range > 0 for rotation"),
        (["--change", "rotation"], "expected a range for rotation"),
        (["--change", "zoom:20"], "a range with its unit for zoom"),
        (["--change", "rotation:10", "--window", "30"], "no wider than the range"),
        (["--change", "rotation:10", "--window", "wide"], "--window NAME:W"),
        (["--change", "rotation:10", "--window", "zoom:3"], "windows of scanned changes"),
        (["--change", "rotation:10", "--samples", "20"], "samples"),
        (["--change", "rotation:10", "--cosine", "1"], r"cosine. in \[0, 1\)"),
        (["--change", "shift-x:40"], "fewer pixels than the picture has"),
        (["--change", "warmth:10"], "warmth"),
        (["--change", "rotation:10", "--change", "rotation:20"], "rotation twice"),
        (["--change", "rotation:10", "--alpha", "0"], "alpha"),
        (["--change", "rotation:10", "--map", "pooled:1"], "needs maps with places"),
        (["--change", "brightness:0"], "range > 0 for brightness"),
        (["--change", "nothing-left:1"], "nothing-left made NaN or infinite values"),
    ],
)
def test_bad_input_is_one_clear_line(words, message, tmp_path, capsys):
    assert re.search(message, refused(capsys, *BASE, *words, "--out", tmp_path / "run"))
    assert not (tmp_path / "run").exists()


@register_change
class NothingLeft(Continuous):
    """A change that makes NaN."""

    name, unit, made, example = "nothing-left", "steps", "by a mistake", "nothing-left:1"
    low, high = -1.0, 1.0

    @classmethod
    def parse(cls, amount):
        return cls()

    def apply(self, x, t):
        return x.expand(len(t), *x.shape) * float("nan")


def test_rotation_of_a_table_is_refused(tmp_path, capsys):
    np.savez(tmp_path / "rows.npz", images=np.zeros((2, 784), np.float32))
    words = ["--model", "mnist-cnn-noise", "--data", f"npz:{tmp_path / 'rows.npz'}", "--change", "rotation:10"]
    line = refused(capsys, "tolerance", *words, "--out", tmp_path / "run")
    assert re.search(r"rotation needs a picture|shape", line)
    assert not (tmp_path / "run").exists()


def test_kinds_do_not_mix(folder, tmp_path):
    assert kind_of(folder).summarise is summarise_tolerances


@ELSEWHERE
def test_workers_change_no_record(engine, folder, tmp_path):
    with Store.read_any(folder) as store:
        _, job = prepare_tolerances(store.config)
    carry_out(job, tmp_path / "run", engine)
    assert records(tmp_path / "run") == records(folder)


def test_a_single_picture(folder, tmp_path, capsys):
    with Store.read_any(folder) as store:
        pixels = np.rint(255 * store.pictures(0, "input")["input"][0]).astype(np.uint8)
    Image.fromarray(pixels).save(tmp_path / "digit.png")
    words = ["--model", "mnist-cnn-noise", "--data", f"{tmp_path / 'digit.png'}?channels=1", "--workers", 1]
    shown = printed(capsys, "tolerance", *words, "--change", "brightness:2", "--out", tmp_path / "run")
    assert (shown["items"], shown["errors"]) == (1, 0)
    found = printed(capsys, "verify", tmp_path / "run", "--resample", 1)
    assert found["passed"], found
