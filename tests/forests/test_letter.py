"""Rows as people have them, groups of columns, and the letter: what it says must be so."""

import math
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import attribound as ab
from attribound.codebook import Codebook, Column
from attribound.data import open_data
from attribound.errors import ArgumentError
from attribound.forests import TreeShap, tolerance
from attribound.forests.groups import make_reasons
from attribound.forests.shap import TreeShap as Explainer
from attribound.models import load_shipped
from tests.forests.models import XGBOOST

CREDIT = open_data("credit-sample")
NAMES = CREDIT.features


class Series(dict[str, Any]):
    """What a pandas Series has and we use: items and an index."""

    @property
    def index(self) -> list[str]:
        return list(self)


class Frame:
    """What a pandas frame has and we use."""

    def __init__(self, *rows: dict[str, Any]) -> None:
        self.columns, self.iloc = list(rows[0]), [Series(row) for row in rows]

    def __len__(self) -> int:
        return len(self.iloc)


@pytest.fixture(scope="module")
def credit() -> Explainer:
    explainer = load_shipped("credit-forest").explainer
    assert isinstance(explainer, Explainer)
    return explainer


def numbers(item: int) -> np.ndarray:
    return CREDIT.input(item).double().numpy()


def cells(item: int) -> dict[str, Any]:
    """A row in words, in another order than the model's."""
    pairs = zip(NAMES, numbers(item).tolist(), strict=True)
    said = {
        name: CREDIT.codebook[name].words[int(value)] if CREDIT.codebook[name].words else value for name, value in pairs
    }
    return dict(reversed(said.items()))


# --- rows


@pytest.mark.parametrize("kind", [dict, Series, Frame])
def test_rows_in_words_are_the_same_rows(kind, credit) -> None:
    assert CREDIT.codebook.row(kind(cells(3)), NAMES).tolist() == numbers(3).tolist()
    told = ab.tolerance(credit, kind(cells(3)), "columns", codebook=CREDIT.codebook)
    assert told.together.reach == tolerance(credit, numbers(3), codebook=CREDIT.codebook).together.reach


def test_missing_cells_are_missing() -> None:
    row = CREDIT.codebook.row(Series(cells(3) | {"age": None, "savings": math.nan, "telephone": ""}), NAMES)
    assert [name for name, value in zip(NAMES, row, strict=True) if math.isnan(value)] == [
        "savings",
        "age",
        "telephone",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pay": 3}, "the model has no column 'pay': leave it out of the row"),
        ({"age": "old"}, "the column 'age' is 'old', expected a number: state the words"),
        ({"housing": "tent"}, "the column 'housing' is 'tent', expected one of 'rent', 'own', 'for free'"),
    ],
)
def test_rows_that_do_not_fit(change, message, credit) -> None:
    with pytest.raises(ArgumentError, match=message):
        tolerance(credit, cells(3) | change, codebook=CREDIT.codebook)


def test_rows_that_are_none(credit) -> None:
    lacking = {name: value for name, value in cells(3).items() if name != "age"}
    for row, message in (
        (lacking, "the row lacks the column 'age' of the model"),
        (Frame(cells(3), cells(4)), "expected one row, got a frame of 2"),
        (["a"] * 18, "expected numbers in `row`, or cells by name"),
        (numbers(3)[:-1], r"expected one row of 18 columns, got an array of shape \(17,\)"),
    ):
        with pytest.raises(ArgumentError, match=message):
            tolerance(credit, row, codebook=CREDIT.codebook)


def test_certificates_take_rows_by_name(credit) -> None:
    noise = ab.Gaussian(0.25, scale=CREDIT.scale)
    row = CREDIT.codebook.row(Frame(cells(3)), NAMES)
    named = Series(zip(NAMES, row.tolist(), strict=True))
    field = ab.Unit(credit)
    certificates = [ab.certify(field, x, noise=noise, samples=64, reasons=2, seed=0) for x in (row, named)]
    assert certificates[0].record.input_sha256 == certificates[1].record.input_sha256
    with pytest.raises(ArgumentError, match="state the words of its categories in a codebook"):
        ab.certify(field, cells(3), noise=noise, samples=64)


def test_a_frame_teaches_a_codebook() -> None:
    columns = {
        "job": SimpleNamespace(cat=SimpleNamespace(categories=["none", "skilled"])),
        "age": np.array([30, 50, 40]),
        "pay": np.array([1.5, 1.5, np.nan]),
        "home": np.array(["own", "rent", "own"]),
        "since": np.array([3.0, np.nan, 5.0]),
    }
    frame = type("F", (), {"columns": list(columns), "__getitem__": lambda self, name: columns[name]})()
    book = Codebook.learn(frame)
    assert (book["job"].words, book["age"].whole, book["pay"].whole) == (("none", "skilled"), True, False)
    assert (book["age"].scale, book["pay"].fixed) == (pytest.approx(np.std([30, 50, 40])), True)
    assert book["home"] == Column()
    assert book["since"] == Column(scale=1.0, whole=True), "whole numbers that pandas made fractions of"


# --- the codebook steers the search


def test_the_codebook_says_how_columns_move(credit) -> None:
    told = tolerance(credit, numbers(1), codebook=CREDIT.codebook)
    stated = {
        "scale": CREDIT.codebook.scales(NAMES),
        "whole": [name for name in NAMES if CREDIT.codebook[name].whole],
        "choices": {name: range(len(words)) for name in NAMES if (words := CREDIT.codebook[name].words)},
    }
    plain = tolerance(credit, numbers(1), **stated)
    assert (told.together.reach, told["duration"].values) == (plain.together.reach, plain["duration"].values)
    fixed = tolerance(credit, numbers(1), codebook=CREDIT.codebook, fixed=["duration", "age"])
    assert fixed.together.reach > told.together.reach
    with pytest.raises(ArgumentError, match="the codebook names the column 'pay'"):
        tolerance(credit, numbers(1), codebook=Codebook({"pay": CREDIT.codebook["age"]}))


def test_every_category_of_the_codebook_is_answered(credit) -> None:
    """Also those that no split names: they share a cell, and each has its answer."""
    told = tolerance(credit, numbers(2), codebook=CREDIT.codebook)
    for name in NAMES:
        words = CREDIT.codebook[name].words
        assert list(told[name].alternatives) == list(range(len(words)))
        for number, kept in told[name].alternatives.items():
            row = numbers(2)
            row[NAMES.index(name)] = number
            values = told.side * credit.explain(row[None])[0]
            assert kept == (NAMES[int(np.argmax(values))] == told.reasons[0])


# --- groups


def test_groups_are_one_reason(tmp_path) -> None:
    """Columns 0 to 2 of a forest as one category: sums decide, and every category is tried."""
    model = XGBOOST["binary"](tmp_path, 1)
    shap, names = TreeShap(model.forest), model.forest.names
    groups, row = {"kind": names[:3]}, model.rows[0].copy()
    row[:3] = [0.0, 1.0, 0.0]
    told = tolerance(shap, row, groups=groups)
    assert told.names == ("kind", *names[3:])
    values = model.explain(row[None])[0, told.target]
    sums = np.concatenate([[values[:3].sum()], values[3:]])
    assert told.contributions == pytest.approx(sums, rel=1e-4, abs=1e-5)
    assert told.reasons[0] == told.names[int(np.argmax(told.side * sums))]
    assert (told["kind"].value, list(told["kind"].alternatives)) == (1.0, [0, 1, 2])
    for number, kept in told["kind"].alternatives.items():
        other = row.copy()
        other[:3] = np.eye(3)[number]
        found = model.explain(other[None])[0, told.target]
        changed = told.side * np.concatenate([[found[:3].sum()], found[3:]])
        assert kept == (told.names[int(np.argmax(changed))] == told.reasons[0])
    if told.together.nearest is not None:
        assert told.together.nearest[:3].tolist() == [0.0, 1.0, 0.0]
        found = model.explain(told.together.nearest[None])[0, told.target]
        changed = told.side * np.concatenate([[found[:3].sum()], found[3:]])
        assert told.names[int(np.argmax(changed))] != told.reasons[0]


def test_groups_that_are_none(credit) -> None:
    for groups, message in (
        ({"a": ["age"]}, r"expected `groups` of columns of the forest, got \['age'\] in 'a'"),
        ({"a": ["age", "pay"]}, "got 'pay' in 'a'"),
        ({"a": ["age", "job"], "b": ["job", "housing"]}, "that share no column and no name, got 'job'"),
        ({"age": ["job", "housing"]}, "that share no column and no name"),
    ):
        with pytest.raises(ArgumentError, match=message):
            make_reasons(NAMES, groups)
    with pytest.raises(ArgumentError, match=r"expected one 1 and zeros in the columns of 'who', got \[30.0, 1.0\]"):
        tolerance(credit, numbers(0), groups={"who": ["age", "number_of_people_liable_for"]})


# --- the letter


def test_the_letter_in_full(credit) -> None:
    text = tolerance(credit, numbers(1), codebook=CREDIT.codebook).letter()
    assert "The answer is: bad risk." in text
    assert (
        "Its reasons, strongest first: checking account (below 0 DM); purpose (new car); credit amount (9,271 DM);"
        in text
    )
    assert "The first reason: checking account. It stays first if only one answer changes, within these limits:" in text
    assert '  checking account: only "below 0 DM" or "0 to 200 DM" (now below 0 DM)' in text
    assert "  credit amount: up to 10,960 DM (now 9,271 DM)" in text
    assert "  all other answers: no limit" in text
    assert "makes credit amount the first reason: 1 month shorter, 358 DM more and 2 years older (size 0.23" in text
    assert "It does not say that the model is right." in text


@pytest.mark.parametrize("item", range(6))
def test_what_the_letter_says_about_the_nearest_change_is_so(item, credit) -> None:
    told = tolerance(credit, numbers(item), codebook=CREDIT.codebook)
    rival = re.search(r"The nearest change that makes (.+?) the first reason", told.letter())
    assert rival is not None
    assert told.together.nearest is not None
    values = told.side * credit.explain(told.together.nearest[None])[0]
    assert CREDIT.codebook.title(NAMES[int(np.argmax(values))]) == rival[1]


def test_which_reasons_are_solid(credit) -> None:
    told = tolerance(credit, numbers(1), codebook=CREDIT.codebook, keep="stays:4")
    reaches = {CREDIT.codebook.title(part.reason): part.together.reach for part in told.parts}
    for at in (0.25, 0.4, 3.0):
        text = told.letter(at)
        lines = re.findall(r"  (Solid|Not solid): (.+)\.", text)
        assert {word: titles.split(", ") for word, titles in lines} == {
            "Solid": [title for title, reach in reaches.items() if reach > at] or ["none"],
            "Not solid": [title for title, reach in reaches.items() if reach <= at] or ["none"],
        }


def test_letters_without_a_codebook_and_with_a_tie(credit) -> None:
    told = tolerance(credit, numbers(1), size="count", keep="class")
    assert "The nearest change that gives another answer: " in str(told)
    assert "Sizes: the number of changed answers." in str(told)
    fixed = tolerance(credit, numbers(1), fixed=NAMES)
    assert "No change of these answers takes it away, however large" in str(fixed)
    assert "Not changed: status, duration" in str(fixed)
