"""Runs of column tolerances: forests and tables at the command line."""

import csv
import json

import msgspec
import numpy as np
import pyarrow
import pytest
import xgboost

from attribound.cli.app import run
from attribound.runs import Store
from attribound.runs.columns_proved import prove_columns

WORDS = ("rent", "own", "free")
NAMES = ("age", "amount", "housing", "months")
ROWS = 12


def table(seed, rows):
    """Applicants with words, numbers and a few missing cells; and whether they paid."""
    rng = np.random.default_rng(seed)
    age, months = rng.integers(20, 70, rows).astype(float), rng.integers(6, 60, rows).astype(float)
    amount, housing = np.round(rng.lognormal(8, 0.6, rows), 1), rng.integers(0, 3, rows)
    score = (age - 45) / 15 - (amount - 3000) / 2500 + np.array([-1.0, 0.8, 0.2])[housing] - (months - 30) / 20
    age[::7] = np.nan
    return {"age": age, "amount": amount, "housing": housing, "months": months}, score + rng.normal(size=rows) > 0


def train(path, *, seed=0, words=True, rounds=12):
    columns, paid = table(1, 500)
    codes = pyarrow.DictionaryArray.from_arrays(pyarrow.array(columns["housing"], pyarrow.int32()), WORDS)
    arrow = {name: pyarrow.array(columns[name]) for name in NAMES} | ({"housing": codes} if words else {})
    data = xgboost.DMatrix(pyarrow.table(arrow), paid.astype(int), enable_categorical=words)
    options = {"objective": "binary:logistic", "max_depth": 3, "nthread": 1, "seed": seed, "subsample": 0.8}
    xgboost.train(options, data, rounds).save_model(path)


def write(path, *, seed=2, rows=ROWS, **cells):
    columns, paid = table(seed, rows)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*NAMES, "paid"])
        for place in range(rows):
            row = {name: columns[name][place] for name in NAMES} | {"housing": WORDS[columns["housing"][place]]}
            row |= {name: value for name, value in cells.items() if place == 0}
            writer.writerow(["" if value != value else value for value in row.values()] + [int(paid[place])])


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    folder = tmp_path_factory.mktemp("columns")
    train(folder / "credit.ubj")
    write(folder / "people.csv")
    return folder


def ask(folder, out, *more, model="credit.ubj", data="people.csv?label=paid"):
    words = ["tolerance", "--model", folder / model, "--data", f"csv:{folder / data}", "--workers", 1, "--out", out]
    return run([str(word) for word in (*words, *more)])


@pytest.fixture(scope="module")
def done(work):
    assert ask(work, work / "run") == 0
    return work / "run"


def records(path):
    with Store.read_any(path) as store:
        return [msgspec.structs.replace(one, seconds=0.0, seal="") for one in store.columns()]


def printed(capsys, *words):
    capsys.readouterr()
    assert run([*map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys, code):
    out, err = capsys.readouterr()
    lines = [line for line in err.splitlines() if line.startswith("error: ")]
    assert (code, out, len(lines)) == (2, "", 1)
    assert "Traceback" not in err
    return lines[0]


def test_a_record_per_row_in_the_words_of_the_table(done, work):
    known = records(done)
    assert len(known) == ROWS
    with (work / "people.csv").open() as file:
        rows = list(csv.DictReader(file))
    for record, row in zip(known, rows, strict=True):
        assert record.names == NAMES
        assert record.row[2] == row["housing"]
        assert record.row[0] == (float(row["age"]) if row["age"] else None)
        assert record.label == int(row["paid"])
        assert all(part.exact for part in record.parts)
        assert record.asked.source.startswith(f"one standard deviation, of all {ROWS} rows of csv:")


def test_runs_resume_and_workers_do_not_matter(done, work, tmp_path):
    assert ask(work, tmp_path / "run", "--items", 5) == 0
    assert ask(work, tmp_path / "run", "--workers", 2) == 0
    assert records(tmp_path / "run") == records(done)


def test_the_nearest_change_breaks_the_first_reason_in_xgboost(done, work):
    booster = xgboost.Booster(model_file=work / "credit.ubj")
    found = 0
    for record in records(done):
        part = record.together
        if part.nearest is None:
            continue
        cells = dict(zip(NAMES, part.nearest, strict=True))
        row = [[WORDS.index(cells[name]) if name == "housing" else cells[name] for name in NAMES]]
        matrix = xgboost.DMatrix(
            np.array(row, float), feature_names=booster.feature_names, feature_types=booster.feature_types
        )
        values = record.side * booster.predict(matrix, pred_contribs=True)[0, :-1]
        assert values[NAMES.index(part.reason)] <= np.delete(values, NAMES.index(part.reason)).max() + 2 * record.tie
        found += 1
    assert found > ROWS / 2


def test_show_and_export(done, capsys):
    shown = printed(capsys, "show", done)
    assert shown["statements"][0]["exact"] == ROWS
    assert run(["show", str(done)]) == 0
    assert "no change smaller than" in capsys.readouterr().out
    rows = printed(capsys, "export", done, "--format", "json")["records"]
    assert rows[0]["row"]["housing"] in WORDS
    assert set(rows[0]["statements"]["1"]["intervals"]) == set(NAMES)
    for form in ("csv", "latex"):
        assert run(["export", str(done), "--format", form]) == 0
        assert "age" in capsys.readouterr().out


def test_verify_searches_again(done, capsys):
    found = printed(capsys, "verify", done, "--resample", 4)
    assert (found["passed"], found["resampled"]) == (True, 4)


def changed(record, **part):
    return msgspec.structs.replace(record, parts=(msgspec.structs.replace(record.parts[0], **part),))


def farther(record):
    """A nearest row twice as far, with its reach."""
    first = record.parts[0]
    moved = [
        after if not isinstance(before, float) or before == after else before + 2 * (after - before)
        for before, after in zip(record.row, first.nearest, strict=True)
    ]
    return changed(record, reach=2 * first.reach, nearest=tuple(moved))


FORGERIES = {
    "a longer reach": lambda one: changed(one, reach=1.5 * one.parts[0].reach),
    "any change": lambda one: changed(one, reach=None, nearest=None, after=None, score=None),
    "a farther nearest row": farther,
    "a row that breaks nothing": lambda one: changed(one, after=one.contributions),
    "an interval beside its value": lambda one: changed(one, intervals=((900.0, None),) * len(NAMES)),
    "another first reason": lambda one: changed(one, reason=one.reasons[1]),
}


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES)
def test_forged_records_are_doubted_without_the_model(done, forge):
    with Store.read_any(done) as store:
        config = store.config
    numbers = [one for one in records(done) if one.parts[0].reach and isinstance(one.row[0], float)]
    record = next(one for one in numbers if one.row[2] == one.parts[0].nearest[2])
    sealed = msgspec.structs.replace(forge(record), seal="")
    proved = next(iter(prove_columns([sealed], config)))
    assert set(proved.doubts) - {"has no seal"}
    assert proved.record.parts[0].reach == 0.0
