"""Codebooks: what people state about a table's columns, and how its values are said."""

import math

import pytest

from attribound.codebook import Codebook, Column
from attribound.data import open_data
from attribound.errors import ArgumentError, StoredDataError

TEXT = """
classes = ["no", "yes"]
[columns.job]
title = "work"
words = ["none", "skilled"]
[columns.age]
unit = "years"
one = "year"
whole = true
scale = 10
[columns.owner]
fixed = true
"""


@pytest.fixture
def codebook(tmp_path) -> Codebook:
    (tmp_path / "c.toml").write_text(TEXT)
    return Codebook.read(tmp_path / "c.toml")


def test_values_are_said_in_their_units(codebook) -> None:
    age, job = codebook["age"], codebook["job"]
    assert [age.text(value) for value in (1.0, 30.0, math.nan)] == ["1 year", "30 years", "missing"]
    assert (job.text(1.0), job.text(2.0)) == ("skilled", "any other")
    assert (codebook.title("job"), codebook.title("age"), codebook.title("pay")) == ("work", "age", "pay")
    assert codebook.classes == ("no", "yes")


def test_cells_become_numbers(codebook) -> None:
    age, job = codebook["age"], codebook["job"]
    assert [age.number(cell) for cell in (30, "30", True, "False")] == [30, 30, 1, 0]
    assert [job.number(cell) for cell in ("none", " skilled ", 1)] == [0, 1, 1]
    assert all(math.isnan(column.number(cell)) for column in (age, job) for cell in ("", None, math.nan))


@pytest.mark.parametrize(
    ("name", "cell", "message"),
    [
        ("job", "pilot", "'pilot', expected one of 'none', 'skilled'"),
        ("job", 2, "2, expected one of 'none', 'skilled'"),
        ("job", "1", "'1', expected one of 'none', 'skilled'"),
        ("age", "old", "'old', expected a number"),
        ("age", math.inf, "inf, expected a number"),
        ("age", [30], r"\[30\], expected a number"),
    ],
)
def test_cells_that_are_none(codebook, name, cell, message) -> None:
    with pytest.raises(ArgumentError, match=f"^{message}$"):
        codebook[name].number(cell)


def test_numbers_that_name_categories_are_names_and_not_places() -> None:
    """A frame's category 1 of 1 and 2 is the first."""
    column = Column(words=("1", "2"))
    assert [column.number(cell) for cell in (1, 2.0, "1", math.nan)] == pytest.approx([0, 1, 0, math.nan], nan_ok=True)
    with pytest.raises(ArgumentError, match="0, expected one of '1', '2'"):
        column.number(0)


def test_a_models_own_words_fill_what_is_not_stated(codebook) -> None:
    known = codebook.with_words({"job": ("none", "skilled"), "home": ("own", "rent")})
    assert (known["job"], known["home"].words, known.classes) == (codebook["job"], ("own", "rent"), codebook.classes)
    with pytest.raises(ArgumentError, match="the categories of 'job' none, skilled, the model skilled, none"):
        codebook.with_words({"job": ("skilled", "none")})


def test_scales(codebook) -> None:
    assert codebook.scales(["age", "job", "owner"]).tolist() == [10, 1, 0]
    with pytest.raises(ArgumentError, match="states no scale for 'pay'"):
        codebook.scales(["age", "pay"])
    assert Codebook({"age": Column(unit="years")}).scales(["age", "pay"]) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[columns.age]\nunits = 'years'", "expected title, unit, .* in the column 'age', got 'units'"),
        ("[columns.age]\nscale = -1", "expected a finite number >= 0 for scale of the column 'age', got -1"),
        ("[columns.age]\nwhole = 1", "expected true or false for whole"),
        ("[columns.job]\nwords = ['a', 'a']", "expected a list of different words"),
        ("[columns]\njob = 3", "in the column 'job', got 3"),
        ("columns = 3", "expected tables `columns.NAME`, got 3"),
        ("[age]\nunit = 'years'", "expected `classes`, `noun` and tables `columns.NAME`, got 'age'"),
        ("noun = 3", "expected a word for `noun`, got 3"),
        ("columns = ", "cannot read the codebook"),
    ],
)
def test_files_that_are_no_codebooks(text, message, tmp_path) -> None:
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(StoredDataError, match=f"cannot read the codebook .*{message}|{message}"):
        Codebook.read(tmp_path / "c.toml")


def test_only_columns_of_the_model_are_named(codebook) -> None:
    assert codebook.check(["age", "job", "owner", "pay"]) is codebook
    with pytest.raises(ArgumentError, match="names the column 'owner', expected one of age, job"):
        codebook.check(["age", "job"])


def test_the_credit_sample_needs_no_network() -> None:
    data = open_data("credit-sample")
    assert (len(data), data.shape, data.classes) == (50, (18,), ("good risk", "bad risk"))
    values = dict(zip(data.features, data.input(0).tolist(), strict=True))
    said = {name: data.codebook[name].text(values[name]) for name in ("duration", "status", "credit_amount")}
    assert said == {"duration": "48 months", "status": "0 to 200 DM", "credit_amount": "8,358 DM"}
    assert not data.images(range(50)).isnan().any()
