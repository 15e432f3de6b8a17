"""Make the embedded credit example: 50 applicants and a small forest.

`python scripts/assets/make_credit.py --data DIR`. DIR holds what `attribound data fetch german-credit` writes. 700
applicants train the forest, the sample is the first 50 of the other 300. Needs xgboost. The same packages make the
same files.
"""

import argparse
import csv
import json
from pathlib import Path

import numpy as np
import xgboost

from attribound.codebook import Codebook

PACKAGE = Path(__file__).parents[2] / "src" / "attribound"
FOLDER, OUT = PACKAGE / "data" / "credit", PACKAGE / "models" / "weights" / "credit-forest"
TRAINING, SAMPLE, TREES = 700, 50, 60
OPTIONS = {
    "objective": "binary:logistic",
    "max_depth": 3,
    "eta": 0.1,
    "subsample": 0.8,
    "min_child_weight": 5,
    "nthread": 1,
    "seed": 0,
}
SHORT = {
    "status": {
        "... < 0 DM": "below 0 DM",
        "0 <= ... < 200 DM": "0 to 200 DM",
        "... >= 200 DM / salary assignments for at least 1 year": "200 DM or more",
        "no checking account": "none",
    },
    "credit_history": {
        "no credits taken/ all credits paid back duly": "no credits, or all repaid",
        "all credits at this bank paid back duly": "all repaid here",
        "existing credits paid back duly till now": "repaid duly so far",
        "delay in paying off in the past": "delays in the past",
        "critical account/ other credits existing (not at this bank)": "critical, or other credits elsewhere",
    },
    "purpose": {
        "car (new)": "new car",
        "car (used)": "used car",
        "furniture/equipment": "furniture",
        "radio/television": "radio or television",
        "domestic appliances": "appliances",
        "others": "other",
    },
    "savings": {
        "... < 100 DM": "below 100 DM",
        "100 <= ... < 500 DM": "100 to 500 DM",
        "500 <= ... < 1000 DM": "500 to 1,000 DM",
        ".. >= 1000 DM": "1,000 DM or more",
        "unknown/ no savings account": "unknown or none",
    },
    "present_employment": {
        "... < 1 year": "below 1 year",
        "1 <= ... < 4 years": "1 to 4 years",
        "4 <= ... < 7 years": "4 to 7 years",
        ".. >= 7 years": "7 years or more",
    },
    "property": {
        "building society savings agreement / life insurance": "savings agreement or life insurance",
        "unknown / no property": "unknown or none",
    },
    "job": {
        "unemployed/ unskilled - non-resident": "unemployed or unskilled, non-resident",
        "unskilled - resident": "unskilled, resident",
        "skilled employee/ official": "skilled",
        "management/ self-employed/ highly qualified employee/ officer": "management or self-employed",
    },
}
"""Words of the source and the shorter ones in the codebook."""


def read(path: Path, names: list[str]) -> list[dict[str, str]]:
    """All applicants in the words of the codebook."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    short = [{name: SHORT.get(name, {}).get(row[name], row[name]) for name in names} for row in rows]
    return [cells | {"risk": f"{row['credit']} risk"} for cells, row in zip(short, rows, strict=True)]


def check_scales(codebook: Codebook, names: list[str], train: np.ndarray) -> None:
    """The codebook states the deviations of the training data, to three digits."""
    for name, deviation in zip(names, train.std(axis=0), strict=True):
        stated = codebook[name].scale
        if not codebook[name].words and stated != float(f"{deviation:.3g}"):
            raise SystemExit(f"codebook.toml states the scale {stated} of {name}, expected {deviation:.3g}")


def main() -> None:
    """Write the sample, the forest and its card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    codebook = Codebook.read(FOLDER / "codebook.toml")
    names = list(codebook.columns)
    rows = read(parser.parse_args().data / "german-credit.csv", names)
    x = np.array([[codebook[name].number(row[name]) for name in names] for row in rows])
    y = np.array([codebook.classes.index(row["risk"]) for row in rows])
    order = np.random.default_rng(7).permutation(len(x))
    train, held = order[:TRAINING], order[TRAINING:]
    check_scales(codebook, names, x[train])
    types = ["c" if codebook[name].words else "q" for name in names]

    def matrix(chosen: np.ndarray) -> xgboost.DMatrix:
        return xgboost.DMatrix(x[chosen], y[chosen], feature_names=names, feature_types=types, enable_categorical=True)

    booster = xgboost.train(OPTIONS, matrix(train), TREES)
    booster.save_model(OUT.with_suffix(".ubj"))
    right = float(((booster.predict(matrix(held)) > 0.5) == y[held]).mean())
    card = {
        "architecture": "forest",
        "data": f"German credit, {TRAINING} applicants (CC BY 4.0)",
        "objective": OPTIONS["objective"],
        "schedule": {"trees": TREES, **OPTIONS},
        "command": "python scripts/assets/make_credit.py --data DIR (credit-forest)",
        "test_data": "German credit, the other applicants",
        "test_inputs": len(held),
        "test_accuracy": round(right, 4),
        "xgboost": xgboost.__version__,
        "date": "2026-11-18",
    }
    OUT.with_suffix(".json").write_text(json.dumps(card, indent=1) + "\n")
    with (FOLDER / "applicants.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, [*names, "risk"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[number] for number in held[:SAMPLE])


if __name__ == "__main__":
    main()
