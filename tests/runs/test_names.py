"""Inputs go by their names: files of pictures, identifiers of rows, in every output."""

import contextlib
import csv
import io
import json
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

import attribound as ab
from attribound import cli
from attribound.data import open_data
from attribound.errors import AttriboundError
from attribound.runs import Store


def command(*arguments: str) -> tuple[int, str]:
    """Exit code and what is printed."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = cli.run(list(arguments))
    return code, out.getvalue()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Three pictures of digits' size in a folder, certified."""
    folder, out = tmp_path_factory.mktemp("pictures"), tmp_path_factory.mktemp("runs") / "run"
    pixels = open_data("mnist-sample")
    for number, name in enumerate(("cup.png", "=sum.png")):
        Image.fromarray((255 * pixels.input(number)[0].numpy()).astype(np.uint8)).save(folder / name)
    (folder / "torn.png").write_bytes(b"no picture")
    data = f"folder:{folder}?size=28&channels=1"
    options = ["--noise", "gaussian:0.5", "--samples", "64", "--workers", "1"]
    assert command("certify", "--model", "mnist-cnn-noise", "--data", data, *options, "--out", str(out))[0] == 0
    return out


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_records_and_failures_name_their_input(run):
    with Store.read(run) as store:
        names = [getattr(one, "input", None) or one.subject.input for one in store.records()]
    assert names == ["=sum.png", "cup.png", "torn.png"]


def test_outputs_name_inputs(run):
    assert "item 2 (torn.png) failed" in command("show", str(run))[1]
    code, text = command("gate", str(run), "--cosine", "0.5", "--epsilon", "9", "--share", "0", "--json")
    assert code == 0
    assert [case["input"] for case in json.loads(text)["not_certified"]] == ["=sum.png", "cup.png", "torn.png"]
    text = command("gate", str(run), "--cosine", "0.5", "--epsilon", "9", "--share", "0")[1]
    assert re.search(r"^- item 1 \(cup\.png\): .*epsilon", text, re.MULTILINE)


def test_the_table_for_people_is_slim_and_all_is_all(run):
    slim, full = (rows(command("export", str(run), *more)[1]) for more in ([], ["--all"]))
    assert [row["input"] for row in slim] == ["'=sum.png", "cup.png", "torn.png"], "a formula stays text"
    assert len(slim[0]) < 35 < len(full[0])
    assert full[1]["subject.input"] == "cup.png"
    assert slim[1]["max_epsilon.0.8"] == full[1]["max_epsilon.0.8"] != ""


def test_a_name_that_the_data_do_not_give_is_found(run, tmp_path):
    (picture := next((run.parent.parent / "pictures0").glob("cup.png"))).rename(picture.with_name("dup.png"))
    try:
        code, text = command("verify", str(run), "--resample", "1")
    finally:
        picture.with_name("dup.png").rename(picture)
    assert code == 1
    assert "calls its input 'cup.png'" in text


def test_rows_of_tables_have_identifiers(tmp_path):
    (tmp_path / "rows.csv").write_text("who,a,b\nAda,1,2\nBob,3,4\n")
    data = open_data(f"csv:{tmp_path / 'rows.csv'}?id=who")
    assert [data.input_name(number) for number in range(2)] == ["Ada", "Bob"]
    assert data.features == ("a", "b")
    assert open_data("mnist-sample").input_name(3) == ""


def test_frames(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=list))
    frame = ab.read_run(run)
    assert [row["input"] for row in frame] == ["=sum.png", "cup.png", "torn.png"]
    assert "subject.model" in ab.read_run(run, everything=True)[0]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(AttriboundError, match="pip install pandas"):
        ab.read_run(run)
