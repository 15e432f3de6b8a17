"""Put finished runs on the leaderboard: `python scripts/experiments/leaderboard.py RUN ...` (also `--imagenet`).

Reads each run and its audit, checks every record against its evidence, and writes results/leaderboard.json (the
source) and results/leaderboard.md (the page). A row of the same model, data, method and noise is replaced. Without
arguments the page is written again. `--imagenet` takes the rows of results/imagenet.json and imagenet-attacks.json.
Rows say what was proved; a run with an assumed limit, a doubtful record, a failed or missing input or a violated
certificate is refused: the others are added, and the exit code is 1.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

from attribound.certificates.record import Record
from attribound.errors import ArgumentError, AttriboundError
from attribound.models import SHIPPED, card
from attribound.rounding import lower_quantile, percent, round_down
from attribound.runs import Store, summarise
from attribound.runs.config import RunConfig
from attribound.runs.proved import ProvedRecord, prove_all
from attribound.runs.summary import Summary

RESULTS = Path(__file__).parents[2] / "results"
COSINE, FRACTION, EPSILON = "0.8", "0.5", "0.1"
KEY = ("data", "model", "denoiser", "method", "maps", "bound", "noise")
IMAGENET = "results/imagenet.json"
METHODS = ("gradcam", "layercam", "gradcam++", "saliency")
"""Those of results/imagenet.json that are on the board."""

HEAD = {
    "model": "model",
    "method": "method",
    "noise": "noise",
    "inputs": "inputs x draws",
    "epsilon": "certified epsilon",
    "visible": "as sampled",
    "joint": "with the class",
    "cells": "cells",
    "fidelity": "fidelity",
    "accuracy": "accuracy",
    "accuracy_noisy": "under noise",
    "gap": "attack gap",
    "seconds": "seconds",
}
ABOUT = """# Leaderboard

How far explanations are proved to hold, model by method by noise. Every row comes from records checked against
their evidence, with attacks where a gap is given; `results/leaderboard.json` has all digits, and the hashes of runs.
"""
COLUMNS = """## What the columns mean

- **certified epsilon**: median over the inputs of the largest l2 change that provably keeps the cosine at 0.8
  or more, between exact averages; **as sampled**: the same for maps as people see them; **with the class**: the
  smoothed class stays, too.
- **cells**: mean share of the map's cells proved, all at once, to stay in its hotter or colder half under every
  change up to 0.1.
- **fidelity**: median cosine of smoothed and plain map. A high epsilon with a low fidelity is a stable map of
  something else.
- **accuracy**: on the whole test set, from the model's card (without one: on the row's inputs); **under noise**:
  share of the row's noisy inputs that are classified as labelled.
- **attack gap**: worst cosine that attacks found at the certified epsilon, less 0.8: what neither proof nor attack
  settles. No certificate was violated, or its row would not be here.
- **seconds** per input, one CPU thread, with other work on the machine: an order of magnitude. A draw is one
  gradient.

Numbers that are proved are rounded down. Inputs are few: rows that differ by a few per cent do not differ.

## Add a row

From a run of yours and its audit:

```sh
attribound certify --model MODEL --data DATA --noise gaussian:0.25 \\
  --cells 0.5 --items 10 --out my-run
attribound attack my-run --budget quick --items 2
python scripts/experiments/leaderboard.py my-run
```

The rows above were made by `python scripts/experiments/measure_leaderboard.py --runs DIR --cifar10 DIR`, then `python
scripts/experiments/leaderboard.py DIR/* --imagenet`. The first script lists the runs of shipped models; those of its
lines that have no row here have not been measured yet.
"""


def row_of(path: Path) -> dict[str, Any]:
    """The row of a finished run."""
    with Store.read(path) as store:
        summary, config = summarise(store), store.config
        proved = [one.record for one in prove_all(store) if isinstance(one, ProvedRecord)]
        findings = list(store.findings().values())
    _refuse(path, summary, config)
    shipped = card(config.model) if config.model in SHIPPED and not config.denoiser else None
    return {
        "data": config.data.partition("?")[0].partition(":")[0],
        "model": config.model if config.model in SHIPPED else Path(config.model).name,
        "denoiser": config.denoiser,
        "method": config.attribution,
        "maps": list(config.maps),
        "bound": config.bound,
        "noise": config.noise,
        "sigma": proved[0].noise.sigma,
        "inputs": len(proved),
        "draws": config.samples,
        "alpha": config.alpha,
        "seed": config.seed,
        "epsilon": summary.quantiles[COSINE]["0.5"],
        "visible": summary.visible[COSINE],
        "joint": lower_quantile([one.joint_epsilon.get(COSINE, 0.0) for one in proved], 0.5),
        "cells": _cells(proved),
        "fidelity": summary.fidelity,
        "chance": summary.chance,
        "accuracy": shipped["test_accuracy"] if shipped else summary.accuracy,
        "accuracy_inputs": shipped["test_inputs"] if shipped else len(proved),
        "accuracy_noisy": summary.accuracy_noisy,
        "attacked": len(findings),
        "gap": lower_quantile([one.gap for one in findings], 0.0) if findings else None,
        "seconds": statistics.fmean(one.seconds for one in proved),
        "model_sha256": config.model_sha256,
        "data_sha256": config.data_sha256,
        "versions": proved[0].versions,
        "source": "run",
    }


def _refuse(path: Path, summary: Summary, config: RunConfig) -> None:
    """Raise unless everything that the run says is proved and there."""
    wanted = config.items or summary.total
    problems = {
        "its limit is assumed, so it certifies nothing": config.bound.startswith("assumed"),
        f"it has {summary.total} of {wanted} inputs": summary.total != wanted or not wanted,
        f"{summary.counts.get('error', 0)} inputs failed": summary.counts.get("error", 0) > 0,
        f"{len(summary.doubtful)} records state more than they prove": bool(summary.doubtful),
        "a certificate was violated": bool(summary.attacked and summary.attacked["violated"]),
        f"it was not asked for cosine {COSINE}": COSINE not in summary.quantiles,
    }
    for problem, holds in problems.items():
        if holds:
            raise ArgumentError(f"{path} is not for the leaderboard: {problem}")


def _cells(records: list[Record]) -> float | None:
    """The mean share of proved cells; None if the run did not ask."""
    tallies = [one.cells.get(FRACTION, {}).get(EPSILON) for one in records]
    if not tallies or None in tallies:
        return None
    return statistics.fmean((one.hot + one.cold) / (one.hot + one.cold + one.unproved) for one in tallies)


def imagenet_rows() -> list[dict[str, Any]]:
    """Rows of photographs, made from stored draws by scripts/experiments/imagenet_table.py."""
    attacks = RESULTS / "imagenet-attacks.json"
    tried = [one for one in json.loads(attacks.read_text()) if one["multiple"] == 1] if attacks.exists() else []
    rows = []
    for line in json.loads((RESULTS / "imagenet.json").read_text()):
        method, _, draws = line["method"].partition(" (")
        if method not in METHODS:
            continue
        same = [one for one in tried if (one["model"], one["sigma"]) == (line["model"], line["sigma"])]
        gaps = [one["cosine"] - one["certified"] for one in same if method == "gradcam"]
        joints = [min(one["epsilon"], one["prediction_radius"]) for one in line["rows"] if "prediction_radius" in one]
        rows.append(
            {
                "data": "ImageNet photographs",
                "model": line["model"],
                "denoiser": None,
                "method": method,
                "maps": [] if method == "saliency" else ["centred"],
                "bound": "unit",
                "noise": f"gaussian:{line['sigma']:g}",
                "inputs": line["photos"],
                "draws": int(draws.split()[0]) if draws else 1024,
                "alpha": 1e-3,
                **{key: line[key] for key in ("sigma", "epsilon", "fidelity", "chance", "accuracy", "accuracy_noisy")},
                "visible": None,
                "joint": lower_quantile(joints, 0.5) if joints else None,
                "cells": line["cells"][EPSILON] if line["cells"] else None,
                "attacked": len(gaps),
                "gap": min(gaps, default=None),
                "seconds": None,
                "source": IMAGENET,
            }
        )
    return rows


def merged(rows: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All rows, the new ones in place of older ones about the same, in their order."""
    found = {_key(row): row for row in [*rows, *new]}
    return [found[key] for key in sorted(found)]


def _key(row: dict[str, Any]) -> str:
    return json.dumps([row[name] for name in KEY])


def markdown(rows: list[dict[str, Any]]) -> str:
    """The page."""
    parts = [ABOUT]
    for data in sorted({row["data"] for row in rows}):
        ours = sorted((row for row in rows if row["data"] == data), key=lambda row: -row["epsilon"])
        lines = [list(HEAD.values()), ["---"] * len(HEAD), *(_shown(row) for row in ours)]
        parts.append("\n".join([f"## {data}\n", *(f"| {' | '.join(line)} |" for line in lines)]) + "\n")
    return "\n".join([*parts, COLUMNS])


def _shown(row: dict[str, Any]) -> list[str]:
    def number(key: str, digits: int) -> str:
        return "–" if row[key] is None else round_down(row[key], digits)

    def share(key: str) -> str:
        return "–" if row[key] is None else percent(row[key])

    kind, _, scale = row["noise"].partition(":")
    sigma = "" if f"{row['sigma']:g}" == scale else f" (sigma {row['sigma']:.3g})"
    return [
        row["model"] + (f" behind {row['denoiser']}" if row["denoiser"] else ""),
        row["method"],
        f"{kind} {scale}{sigma}",
        f"{row['inputs']} x {row['draws']:,}",
        *(number(key, 3) for key in ("epsilon", "visible", "joint")),
        share("cells"),
        number("fidelity", 2),
        share("accuracy"),
        share("accuracy_noisy"),
        "–" if row["gap"] is None else f"{round_down(row['gap'], 2)} ({row['attacked']})",
        "–" if row["seconds"] is None else f"{row['seconds']:.0f}",
    ]


def main() -> None:
    """Add what is named, write both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, nargs="*")
    parser.add_argument("--imagenet", action="store_true", help="take the rows of results/imagenet.json")
    parser.add_argument("--out", type=Path, default=RESULTS / "leaderboard.json")
    chosen = parser.parse_args()
    rows = json.loads(chosen.out.read_text()) if chosen.out.exists() else []
    new, refused = [], []
    for path in chosen.runs:
        try:
            new.append(row_of(path))
        except AttriboundError as error:
            refused.append(f"error: {error}")
    if chosen.imagenet:
        rows = [row for row in rows if row["source"] != IMAGENET]
        new += imagenet_rows()
    rows = merged(rows, new)
    chosen.out.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    chosen.out.with_suffix(".md").write_text(markdown(rows))
    print(f"{len(rows)} rows in {chosen.out}")
    if refused:
        sys.exit("\n".join(refused))


if __name__ == "__main__":
    main()
