"""Forests and tables that do not fit: one clear line each, and nothing is written."""

import json

import numpy as np
import pytest
import xgboost

from attribound.cli import run
from tests.runs.applicants import NAMES, ask, records, refused, table, train, write


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    folder = tmp_path_factory.mktemp("refused")
    train(folder / "credit.ubj", rounds=3)
    write(folder / "people.csv")
    return folder


def rewritten(folder, name, change):
    """Another table, its lines changed."""
    lines = (folder / "people.csv").read_text().splitlines()
    (folder / name).write_text("\n".join(change(lines)) + "\n")
    return name


def swapped(lines):
    return [",".join([cells[1], cells[0], *cells[2:]]) for cells in (line.split(",") for line in lines)]


TABLES = {
    "another name": (
        lambda lines: [lines[0].replace("amount", "sum"), *lines[1:]],
        "the data has 'sum' and lacks 'amount'",
    ),
    "another order": (swapped, "got 'amount' in place 1, where the model has 'age'"),
    "one column less": (lambda lines: [line.partition(",")[2] for line in lines], "the data lacks 'age'"),
    "one row": (lambda lines: lines[:2], "one row has no standard deviation"),
    "a constant column": (
        lambda lines: [lines[0], *(",".join([*line.split(",")[:3], "12", "1"]) for line in lines[1:])],
        "the column 'months' is the same in all rows, so it has no standard deviation: say that it does not move",
    ),
}


@pytest.mark.parametrize(("change", "line"), TABLES.values(), ids=TABLES)
def test_tables_that_do_not_fit(work, tmp_path, capsys, change, line):
    data = rewritten(work, "changed.csv", change)
    assert line in refused(capsys, ask(work, tmp_path / "run", data=f"{data}?label=paid"))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ("people.csv", "the data also has 'paid': type ?label=paid if it holds the labels, else ?drop=paid"),
        ("wide.csv", "the data also has 'paid', 'note': type ?label=NAME for the labels and ?drop=A,B for the others"),
    ],
)
def test_a_column_too_many_is_named_with_what_to_type(work, tmp_path, capsys, data, line):
    rewritten(work, "wide.csv", lambda lines: [f"{lines[0]},note", *(f"{cells},0" for cells in lines[1:])])
    assert line in refused(capsys, ask(work, tmp_path / "run", data=data))


def test_a_method_that_needs_gradients_is_refused_before_anything_is_written(work, tmp_path, capsys):
    """Every worker of the run would fail at its start, be replaced, and fail again."""
    model, data = work / "credit.ubj", f"csv:{work / 'people.csv'}?label=paid&scale={work / 'people.csv'}"
    command = ["certify", "--model", str(model), "--data", data, "--attribution", "saliency", "--workers", "2"]
    line = refused(capsys, run([*command, "--out", str(tmp_path / "run")]))
    assert "the model's output does not depend on its input through differentiable operations" in line
    assert not (tmp_path / "run").exists()


def test_columns_of_whole_numbers_are_told(work, tmp_path, capsys):
    """Else "just below 31" is the nearest change of an age, by no distance at all."""
    line = "some columns hold whole numbers only: if there are none between, add --whole age,months"
    for more, told in ((("--items", "1"), True), (("--items", "1", "--whole", "age,months"), False)):
        assert ask(work, tmp_path / f"run{told}", *more) == 0
        assert (line in capsys.readouterr().err.splitlines()) == told


OPTIONS = {
    ("--keep", "second"): "expected `keep` first, stays:K, top:K",
    ("--keep", "stays:9"): "K from 1 to 3",
    ("--fixed", "colour"): "expected --fixed to name columns of the forest, got 'colour'",
    ("--whole", "colour"): "expected --whole to name columns of the forest, got 'colour'",
    ("--scale", "nowhere.json"): "nowhere.json",
    ("--target", "3"): "expected --target from 0 to 0",
    ("--change", "columns", "--change", "rotation:3"): "expected --change columns alone",
    ("--change", "columns", "--attribution", "saliency"): "expected --attribution treeshap",
    ("--seconds", "0"): "seconds",
    ("--size", "longest"): "--size",
}


@pytest.mark.parametrize("words", OPTIONS, ids=" ".join)
def test_options_that_do_not_fit(work, tmp_path, capsys, words):
    assert OPTIONS[words] in refused(capsys, ask(work, tmp_path / "run", *words))
    assert not (tmp_path / "run").exists()


def test_units_that_do_not_fit(work, tmp_path, capsys):
    wrong = {"[1]": "a JSON file of units", '{"age": 1}': "states no unit of 'amount'", '{"colour": 1}': "not a column"}
    zero = json.dumps(dict.fromkeys(NAMES, 1.0) | {"age": 0})
    for text, line in {**wrong, zero: "the column 'age' has unit 0: say that it does not move, --fixed age"}.items():
        (tmp_path / "units.json").write_text(text)
        assert line in refused(capsys, ask(work, tmp_path / "run", "--scale", tmp_path / "units.json"))


def test_rows_that_cannot_be_read_fail_alone(work, tmp_path):
    write(work / "odd.csv", housing="castle")
    assert ask(work, tmp_path / "run", data="odd.csv?label=paid") == 0
    first, *others = records(tmp_path / "run", failures=True)
    assert first.message.endswith("column 'housing' is 'castle', expected a category of the model (rent, own, free)")
    assert all(one.parts for one in others)


def test_files_that_are_no_forests(work, tmp_path, capsys):
    def line(name, content):
        (work / name).write_bytes(content)
        return refused(capsys, ask(work, tmp_path / "run", model=name))

    assert "no.ubj" in line("no.ubj", b"no forest")
    assert "no.txt" in line("no.txt", b"tree\nno forest\n")
    assert "no.json" in line("no.json", b'{"learner": {}}')
    columns, paid = table(1, 60)
    data = xgboost.DMatrix(np.array([columns["amount"], columns["months"]]).T, paid)
    xgboost.train({"booster": "gblinear", "nthread": 1}, data, 2).save_model(work / "linear.json")
    assert "expected a tree booster, got gblinear" in refused(capsys, ask(work, tmp_path / "run", model="linear.json"))


def test_columns_are_for_forests_and_tables(work, tmp_path, capsys):
    words = ["tolerance", "--model", "mnist-cnn", "--data", "mnist-sample", "--change", "columns", "--attribution"]
    assert "--change columns is for forests" in refused(capsys, run([*words, "treeshap", "--out", str(tmp_path / "r")]))
    words = ["tolerance", "--model", str(work / "credit.ubj"), "--data", "mnist-sample", "--out", str(tmp_path / "r")]
    assert "expected a table" in refused(capsys, run(words))
