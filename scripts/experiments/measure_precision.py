"""What bfloat16 changes: two runs over the same inputs, one in float32, one in bfloat16.

`attribound certify ... --out run32`, the same with `--precision bfloat16 --out run16` on a processor that has the
instructions, then `python scripts/experiments/measure_precision.py run32 run16`. Compares single maps, of the input and
of noisy copies, and what was certified. Writes results/precision.md, one row per model: run again for another model.
"""

import argparse
import statistics
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

from attribound.certificates import Record
from attribound.certification.reopen import Opener
from attribound.fields import Bounded
from attribound.rounding import round_down
from attribound.runs import Store

OUT = Path(__file__).parents[2] / "results" / "precision.md"
COPIES, COSINE = 4, "0.8"
COLUMNS = [
    *("model", "map", "noise", "draws", "inputs", "cosine, median", "lowest", "same class"),
    *("epsilon, float32", "bfloat16", "their ratio, median", "lowest", "highest"),
]
HEAD = f"""# Maps and certificates in bfloat16

Made by `python scripts/experiments/measure_precision.py RUN32 RUN16` from two runs of `attribound certify` that
differ in `--precision` alone, on a processor with bfloat16 instructions. *Cosine*: a single map in bfloat16 with the
same map in float32, of every input and of {COPIES} noisy copies of it. *Epsilon* at cosine {COSINE}: what each run
certifies, and the ratio input by input, where both explain the same class. `python -m benchmarks half_precision`
measures the speed.

| {" | ".join(COLUMNS)} |
|{"---|" * len(COLUMNS)}
"""


@dataclass(frozen=True)
class Case:
    """One input of both runs."""

    cosines: list[float]
    same_class: bool
    epsilons: tuple[float, float]


def main() -> None:
    """Compare, and put the row into the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("exact", type=Path, help="the run in float32")
    parser.add_argument("rounded", type=Path, help="the same run in bfloat16")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    with Store.read(chosen.exact) as exact, Store.read(chosen.rounded) as rounded:
        records = [list(store.only(Record)) for store in (exact, rounded)]
    assert [one.subject.precision for one in (records[0][0], records[1][0])] == ["float32", "bfloat16"]
    openers = Opener(), Opener()
    cases = [case(pair, openers) for pair in zip(*records, strict=True)]
    write(row(records[0][0], cases))


def case(pair: tuple[Record, Record], openers: tuple[Opener, Opener]) -> Case:
    """Single maps and epsilons of one input."""
    opened = [opener(record.subject) for opener, record in zip(openers, pair, strict=True)]
    assert torch.equal(opened[0].x, opened[1].x)
    x, sigma = opened[0].x, pair[0].noise.sigma
    noise = sigma * torch.randn(COPIES, *x.shape, generator=torch.Generator().manual_seed(pair[0].item))
    points = torch.cat([x[None], x + noise])
    maps = [single_maps(one.field, points, pair[0].target) for one in opened]
    epsilons = pair[0].max_epsilon[COSINE], pair[1].max_epsilon[COSINE]
    measured = Case(cosine_similarity(*maps).tolist(), pair[0].target == pair[1].target, epsilons)
    print(pair[0].subject.input, measured, flush=True)
    return measured


def single_maps(field: Bounded, points: Tensor, target: int) -> Tensor:
    """(n, m) maps, float64."""
    return field.attribute(points, target).detach().flatten(1).double()


def row(record: Record, cases: list[Case]) -> str:
    """One line of the table: cosines rounded down."""
    cosines = [one for case in cases for one in case.cosines]
    alike = [case.epsilons for case in cases if case.same_class]
    before, after = (statistics.median(column) for column in zip(*alike, strict=True))
    ratios = [short / exact for exact, short in alike]
    cells = [
        *(record.subject.arch or record.subject.model, record.attribution, record.subject.noise, record.samples),
        *(len(cases), round_down(statistics.median(cosines), 5), round_down(min(cosines), 5)),
        *(len(alike), round_down(before, 4), round_down(after, 4)),
        *(f"{one:.4f}" for one in (statistics.median(ratios), min(ratios), max(ratios))),
    ]
    return "| " + " | ".join(str(cell) for cell in cells) + " |\n"


def write(line: str) -> None:
    """Replace the row of the same model, or add one."""
    old = OUT.read_text().splitlines(keepends=True) if OUT.exists() else HEAD.splitlines(keepends=True)
    model = line.split("|")[1]
    OUT.write_text("".join(one for one in old if not one.startswith(f"|{model}|")) + line)


if __name__ == "__main__":
    main()
