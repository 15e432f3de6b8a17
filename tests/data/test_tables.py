"""Tables: names, labels, units learnt from another file, and rows that are not what they should be."""

import numpy as np
import pyarrow as pa
import pytest
import torch
from pyarrow import parquet

from attribound.data import open_data
from attribound.data.cells import Cells
from attribound.errors import ArgumentError, StoredDataError

TEXT = "age,income,diagnosis\n30,1000,benign\n40,3000,malign\n50,2000,benign\n"


def write(path, text: str, kind: str) -> str:
    """The same table as CSV or Parquet; returns what to type."""
    if kind == "csv":
        path.write_text(text)
    else:
        names, *rows = (line.split(",") for line in text.strip().splitlines())
        columns = {name: [_value(row[place]) for row in rows] for place, name in enumerate(names)}
        parquet.write_table(pa.table(columns), path)
    return f"{kind}:{path}"


def _value(cell: str) -> float | str | None:
    try:
        return float(cell) if cell else None
    except ValueError:
        return cell


both = pytest.mark.parametrize("kind", ["csv", "parquet"])


@both
def test_names_labels_and_units(kind, tmp_path) -> None:
    spec = write(tmp_path / "a", TEXT, kind)
    data = open_data(f"{spec}?label=diagnosis&scale={tmp_path / 'a'}")
    assert (data.features, data.classes) == (("age", "income"), ("benign", "malign"))
    assert (len(data), data.shape) == (3, (2,))
    assert data.input(1).tolist() == [40, 3000]
    assert [data.label(i) for i in range(3)] == [0, 1, 0]
    assert data.scale.tolist() == pytest.approx([np.std([30, 40, 50]), np.std([1000, 3000, 2000])])
    assert data.name == spec


@both
def test_standardised(kind, tmp_path) -> None:
    spec = write(tmp_path / "a", TEXT, kind)
    learnt = write(tmp_path / "b", "income,note,age\n0,x,10\n2000,y,30\n", kind)
    data = open_data(f"{spec}?columns=age,income&standardise={learnt.partition(':')[2]}")
    assert data.input(0).tolist() == pytest.approx([(30 - 20) / 10, 0.0])
    assert (data.scale, data.label(0), data.classes) == (None, None, ())


@both
def test_labels_of_the_users_order_and_numbers(kind, tmp_path) -> None:
    spec = write(tmp_path / "a", TEXT, kind)
    data = open_data(f"{spec}?label=diagnosis&classes=malign,benign")
    assert (data.label(0), data.classes) == (1, ("malign", "benign"))
    with pytest.raises(StoredDataError, match=r"row 1 of .* has the label 'malign', expected benign, other"):
        open_data(f"{spec}?label=diagnosis&classes=benign,other")
    numbered = open_data(write(tmp_path / "b", "x,y\n0.5,2\n0.25,0\n", kind) + "?label=y")
    assert ([numbered.label(0), numbered.label(1)], numbered.classes) == ([2, 0], ("0", "1", "2"))


@both
def test_a_bad_row_is_a_problem_when_it_is_asked_for(kind, tmp_path) -> None:
    data = open_data(write(tmp_path / "a", "x,y\n1,2\n,4\n5,6\n", kind))
    assert torch.equal(data.images([0, 2]), torch.tensor([[1.0, 2.0], [5.0, 6.0]]))
    with pytest.raises(StoredDataError, match=r"item 1 of .*: (column 'x' is '', expected a number|it lacks a number)"):
        data.input(1)


def test_broken_cells_of_a_csv(tmp_path) -> None:
    data = open_data(write(tmp_path / "a.csv", "\ufeffx;y\n1;2\n\n3\n4;5;6\nnan;1\n7;1e400\n8;9\n", "csv"))
    assert data.features == ("x", "y")
    assert data.input(5).tolist() == [8, 9]
    for item, message in enumerate(["has 1 cells, expected 2", "has 3 cells", "'x' is 'nan'", "'y' is '1e400'"], 1):
        with pytest.raises(StoredDataError, match=message):
            data.input(item)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", "", "expected the first row of .* to name its columns"),
        ("1,2\n3,4\n", "", "expected the first row of .* to name its columns"),
        ("x,x\n1,2\n", "", "has two columns 'x'"),
        ("x,city\n1,Rome\n", "", r"the column 'city' of .* holds no numbers: leave it out, \?drop=city, or say"),
        ("x,y\n1,2\n", "?label=z", "has no column 'z'; it has x, y"),
        ("x,y\n1,2\n", "?drop=x,y", "has no columns of numbers"),
        ("x,y\n1,a\n2,\n", "?label=y", "row 1 of .* has the label '', expected a label"),
        ("x\n" + "1" * 200_000 + "\n", "", "cannot read .*field larger than field limit"),
    ],
)
def test_broken_tables(text, options, message, tmp_path) -> None:
    with pytest.raises(StoredDataError, match=message):
        open_data(write(tmp_path / "a.csv", text, "csv") + options)


@both
def test_scales_that_cannot_be_learnt(kind, tmp_path) -> None:
    spec = write(tmp_path / "a", "x,y\n1,2\n3,4\n", kind)
    for text, message in (
        ("x,z\n1,2\n3,4\n", "lacks the column 'y' of the data"),
        ("x,y\n1,2\n3,2\n", r"the column 'y' of .* is constant: leave it out, \?drop=y"),
        ("x,y\n1,2\n", "has 1 whole rows, expected at least 2"),
    ):
        write(tmp_path / "b", text, kind)
        with pytest.raises(StoredDataError, match=message):
            open_data(f"{spec}?scale={tmp_path / 'b'}")
    with pytest.raises(ArgumentError, match=r"expected \?scale= or \?standardise=, not both"):
        open_data(f"{spec}?scale=a&standardise=b")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"PAR1garbagePAR1", b""])
def test_files_that_are_no_tables(kind, content, tmp_path) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(StoredDataError, match=r"cannot read|expected the first row|has no rows"):
        open_data(f"{kind}:{tmp_path / 'a'}")


def test_options_are_checked(tmp_path) -> None:
    with pytest.raises(ArgumentError, match=r"expected \?label=..., .* after a\.csv, got 'lable=x'"):
        open_data("csv:a.csv?lable=x")
    with pytest.raises(ArgumentError, match="expected no options after x, got 'size=3'"):
        open_data("mnist:x?size=3")


def test_a_parquet_file_that_unfolds_is_refused(tmp_path, monkeypatch) -> None:
    parquet.write_table(pa.table({"x": np.zeros(100_000)}), tmp_path / "a")
    monkeypatch.setenv("ATTRIBOUND_MAX_BYTES", "1000000")
    with pytest.raises(StoredDataError, match=r"would take 1,600,\d+ bytes of memory"):
        open_data(f"parquet:{tmp_path / 'a'}")


CODEBOOK = """
classes = ["no", "yes"]
[columns.job]
words = ["none", "skilled"]
[columns.age]
unit = "years"
scale = 10
[columns.owner]
fixed = true
"""
CELLS = "age,job,owner,bought\n30,skilled,1,yes\n20,none,0,no\n50,pilot,1,no\n"


@both
def test_a_codebook_reads_words_and_states_units(kind, tmp_path) -> None:
    (tmp_path / "c.toml").write_text(CODEBOOK)
    data = open_data(f"{write(tmp_path / 'a', CELLS, kind)}?label=bought&codebook={tmp_path / 'c.toml'}")
    assert (data.input(0).tolist(), data.input(1).tolist()) == ([30, 1, 1], [20, 0, 0])
    assert (data.classes, data.label(0), data.label(1)) == (("no", "yes"), 1, 0)
    assert data.scale.tolist() == [10, 0, 0], "categories and fixed columns get no noise"
    assert data.codebook["age"].text(30.0) == "30 years"
    with pytest.raises(StoredDataError, match=r"item 2 of .* column 'job' is 'pilot', expected a category"):
        data.input(2)


def test_a_codebook_agrees_with_the_table_and_the_model(tmp_path) -> None:
    (tmp_path / "c.toml").write_text(CODEBOOK)
    spec = f"{write(tmp_path / 'a', CELLS, 'csv')}?label=bought&codebook={tmp_path / 'c.toml'}"
    with pytest.raises(ArgumentError, match="the codebook and the model name categories of 'job' differently"):
        open_data(spec, cells=Cells(words={"job": ("skilled", "none")}))
    (tmp_path / "c.toml").write_text("[columns.pay]\nunit = 'EUR'")
    with pytest.raises(ArgumentError, match="the codebook names the column 'pay', expected one of age, owner"):
        open_data(spec.replace("?", "?drop=job&"))


def test_what_is_no_number_is_a_problem_and_not_missing(tmp_path) -> None:
    """A model that takes missing cells explained what Parquet holds as text as if it were missing."""
    (tmp_path / "a.csv").write_text("number,text\n1,twelve\n2,12.5\n,\ninf,1\n")
    columns = {"number": [1.0, 2.0, None, np.inf], "text": ["twelve", "12.5", None, "1"]}
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    for kind in ("csv", "parquet"):
        data = open_data(f"{kind}:{tmp_path / 'a'}.{kind}", cells=Cells(missing=True))
        for item in (0, 3):
            with pytest.raises(StoredDataError, match=f"item {item}"):
                data.input(item)
        assert data.input(1).tolist() == [2, 12.5]
        assert data.input(2).isnan().all()


def test_dates_are_no_missing_numbers(tmp_path) -> None:
    columns = {"number": [1.0, 2.0], "day": pa.array([20_000, None], pa.date32()), "nothing": pa.nulls(2)}
    parquet.write_table(pa.table(columns), tmp_path / "a")
    data = open_data(f"parquet:{tmp_path / 'a'}", cells=Cells(missing=True))
    with pytest.raises(StoredDataError, match=r"2024-10-04.*expected a number"):
        data.input(0)
    assert data.input(1)[0] == 2
    assert data.input(1)[1:].isnan().all()
