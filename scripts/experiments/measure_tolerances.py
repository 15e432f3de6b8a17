"""How far pictures may change before their explanations do: runs of tolerances, checked and put into tables.

`python scripts/experiments/measure_tolerances.py RUN ... [--check N] [--draws D] [--data SPEC] [--together RUN ...]`

Each RUN is a folder of `attribound tolerance`. With `--check N` the records of its first N inputs are checked: scans
against an independent dense scan of D draws, lists by computing every alternative anew, one by one. `--together` names
runs of `attribound certify --change`. Writes `results/tolerances.json` and `.md`; checks made before are kept.
"""

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from tolerances_table import page

import attribound as ab
from attribound.certificates.record import Failure, Record
from attribound.certification.reopen import Opener
from attribound.changes.base import Continuous, Finite
from attribound.changes.registry import parse_change
from attribound.fields import Explanation, Field
from attribound.rounding import exact_text
from attribound.runs import Store
from attribound.runs.kinds import kind_of
from attribound.runs.records import encode
from attribound.sampling.along import Along
from attribound.sampling.listed import cosines_with
from attribound.sampling.scan import Scan
from attribound.tolerances.evidence import Listed, Scanned
from attribound.tolerances.finding import BEYOND
from attribound.tolerances.record import ToleranceRecord
from attribound.tolerances.windows import WindowSearch

OUT = Path(__file__).parents[2] / "results" / "tolerances"
SEED = 2**31 + 5
"""Of the checks: no run of ours has it."""
POSITIONS, FRESH = 129, 256
"""Windows over a range, and draws for each of the two means that decide about the worst of them."""


@dataclass(frozen=True)
class Case:
    """One record, with what it is about."""

    record: ToleranceRecord
    along: Along
    shown: np.ndarray

    @property
    def cosine(self) -> float:
        """What was asked first."""
        return self.record.cosines[0]


def opened(store: Store, record: ToleranceRecord, opener: Opener) -> Case:
    field, x = opener.explained(record.subject)
    pictures = store.pictures(record.item, "plain", f"shown:{record.part}")
    shown = pictures.get(f"shown:{record.part}", pictures["plain"])
    return Case(record, Along(field, parse_change(record.change.spec), x, record.target), shown.ravel())


def check_list(case: Case) -> dict[str, Any]:
    """Compute every alternative again, alone in its batch and without the sampling code."""
    change, evidence, field, x = case.along.change, case.record.evidence(), case.along.field, case.along.x
    assert isinstance(change, Finite)
    assert isinstance(evidence, Listed)
    found = []
    for t in change.alternatives(x).split(1):
        maps = field.base.attribute(change.apply(x, t), case.record.target).detach()
        found.append(change.back(maps, t, x.shape).double().flatten(1))
    apart = np.abs(cosines_with(torch.cat(found).numpy(), case.shown) - evidence.cosines)
    return {"alternatives": len(found), "largest_difference": float(apart.max())}


def check_scan(case: Case, draws: int) -> dict[str, Any]:
    """A dense scan with draws of its own: window means at many positions, and whether the worst breaks a proof."""
    change, evidence, record = case.along.change, case.record.evidence(), case.record
    assert isinstance(change, Continuous)
    assert isinstance(evidence, Scanned)
    scan = Scan(case.along, record.samples, evidence.scan.grid.window, record.prediction, record.seed, record.item)
    search = WindowSearch(scan, case.shown, draws, FRESH, SEED)
    positions, started = np.linspace(change.low, change.high, POSITIONS), time.process_time()
    means = search.look(positions)
    seconds, cosines = (time.process_time() - started) / draws, search.cosines(means)
    inside, reach = np.zeros(POSITIONS, bool), record.reach(case.cosine)
    if reach is not None:
        low, high = (change.inner(end) for end in reach)
        inside = (positions >= low) & (positions <= high)
    some = np.flatnonzero(inside)
    part = means.only(slice(some[0], some[-1] + 1)) if len(some) else means
    worst = -search.worst_cosine(positions[inside], part, case.cosine).errors if len(some) else None
    return {
        "draws": draws,
        "positions_inside": int(inside.sum()),
        "violated": worst is not None and worst > BEYOND,
        "worst_in_errors": worst,
        "ends": _ends(case, positions, cosines),
        "seconds_per_map": seconds,
    }


def _ends(case: Case, positions: np.ndarray, cosines: np.ndarray) -> list[dict[str, float]]:
    """Each side that breaks inside the range: proved, true and broken ends, as parameters."""
    change, reach, found = case.along.change, case.record.reach(case.cosine), []
    assert isinstance(change, Continuous)
    broken = case.record.breaks[exact_text(case.cosine)]
    for side in (-1, 1):
        outward = np.argsort(np.abs(positions))[np.sign(positions[np.argsort(np.abs(positions))]) != -side]
        failing = outward[cosines[outward] < case.cosine]
        if len(failing) == 0 or (side < 0 and change.low == 0):
            continue
        proved = 0.0 if reach is None else abs(change.inner(reach[(side + 1) // 2]))
        ends = {"proved": proved, "true": float(abs(positions[failing[0]]))}
        if broken is not None and change.inner(broken.value) * side > 0:
            ends["broken"] = abs(change.inner(broken.value))
        found.append(ends)
    return found


def check_run(path: Path, items: int, draws: int, data: str | None, known: dict[str, Any]) -> None:
    """Check the records of the first inputs; what was checked before stays."""
    opener = Opener(data=data)
    with Store.read_any(path) as store:
        for record in store.only(ToleranceRecord):
            key = f"{path.name} {record.item} {record.part}"
            if isinstance(record, Failure) or record.item >= items or key in known:
                continue
            case = opened(store, record, opener)
            known[key] = check_list(case) if record.proof == "exact" else check_scan(case, draws)
            print(key, known[key], flush=True)


class Constant(Field):
    """A map of 7 x 7 that costs nothing."""

    name = "constant"

    def __init__(self) -> None:
        self.model = torch.nn.Linear(2, 2).double().eval()
        self.map = torch.rand(7, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64)

    def explain(self, inputs: Any, target: Any, *, generator: Any = None, create_graph: bool = False) -> Explanation:
        """The same map for all."""
        return Explanation(self.map.expand(len(inputs), 7, 7), torch.zeros(len(inputs), 2, dtype=torch.float64))


class Nothing(Continuous):
    """A change that changes nothing."""

    name, unit, made, example, low, high = "nothing", "steps", "as it is", "nothing:1", -1.0, 1.0

    def apply(self, x: Any, t: Any) -> Any:
        """X itself."""
        return x.expand(len(t), *x.shape)


def bookkeeping() -> float:
    """Processor seconds per draw of a scan whose maps (7 x 7) cost nothing: all that is not the model's."""
    along = Along(ab.Unit(Constant()), Nothing(), torch.zeros(2, dtype=torch.float64), 0)
    started = time.process_time()
    Scan(along, 4096, 0.125, 0, 0).run(49)
    return (time.process_time() - started) / 4096


def tabulated(path: Path) -> dict[str, Any]:
    """The run in numbers, with sizes and times of its records."""
    with Store.read_any(path) as store:
        records = [one for one in store.only(ToleranceRecord) if isinstance(one, ToleranceRecord)]
        found = kind_of(path).summarise(store).to_json()
        found["samples"] = store.config.samples
        found["config"] |= {key: _named(found["config"][key]) for key in ("model", "data")}
        found["config"]["maps"] = [_named(one) for one in found["config"]["maps"]]
    for name, change in found["changes"].items():
        of_it = [one for one in records if one.part == name]
        change["bytes"] = max((len(encode(one)) for one in of_it), default=0)
        change["seconds"] = median([one.seconds for one in of_it] or [0.0])
        change["reaches"] = [one.reach(one.cosines[0]) for one in of_it]
        change["fidelities"] = [one.fidelity for one in of_it]
    return found


def _named(spec: str) -> str:
    """A file or folder without the way to it."""
    return spec.rpartition("/")[2]


def together(path: Path) -> dict[str, Any]:
    """A run of combinations in numbers."""
    with Store.read(path) as store:
        records = [one for one in store.records() if isinstance(one, Record)]
        config = store.config
    epsilons = [ab.Certificate(one).max_epsilon(0.8) for one in records]
    return {
        "model": _named(config.model),
        "attribution": config.attribution,
        "noise": config.noise,
        "changes": list(config.changes),
        "samples": config.samples,
        "alpha": config.alpha,
        "inputs": len(records),
        "epsilons": epsilons,
        "median_epsilon": median(epsilons),
        "median_fidelity": median(one.fidelity or 0.0 for one in records),
    }


def main() -> None:
    """Check, put together, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", type=Path, help="folders of attribound tolerance")
    parser.add_argument("--check", type=int, default=0, help="check the records of the first so many inputs of a run")
    parser.add_argument("--draws", type=int, default=1024, help="draws of a dense scan")
    parser.add_argument("--data", default=None, help="the runs' data, where they moved")
    parser.add_argument("--together", nargs="*", type=Path, default=[], help="folders of attribound certify --change")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    known = json.loads(OUT.with_suffix(".json").read_text()) if OUT.with_suffix(".json").exists() else {}
    checks = known.get("checks", {})
    for path in chosen.runs:
        check_run(path, chosen.check, chosen.draws, chosen.data, checks)
    found = {
        "runs": known.get("runs", {}) | {path.name: tabulated(path) for path in chosen.runs},
        "together": known.get("together", {}) | {path.name: together(path) for path in chosen.together},
        "checks": checks,
        "bookkeeping_seconds_per_draw": bookkeeping(),
    }
    OUT.with_suffix(".json").write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    OUT.with_suffix(".md").write_text(page(found))


if __name__ == "__main__":
    main()
