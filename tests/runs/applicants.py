"""Applicants for credit: tables with words and missing cells, small forests, and runs about them."""

import csv
import json

import msgspec
import numpy as np
import pyarrow
import xgboost

from attribound.cli.app import run
from attribound.runs import Store
from attribound.tolerances.columns.record import ColumnsRecord

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


def ask(folder, out, *more, model="credit.ubj", data="people.csv?label=paid"):
    words = ["tolerance", "--model", folder / model, "--data", f"csv:{folder / data}", "--workers", 1, "--out", out]
    return run([str(word) for word in (*words, *more)])


def records(path, *, failures=False):
    with Store.read_any(path) as store:
        known = list(store.only(ColumnsRecord))
    return known if failures else [msgspec.structs.replace(one, seconds=0.0, seal="") for one in known]


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
