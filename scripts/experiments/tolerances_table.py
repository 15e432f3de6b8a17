"""The tables of `measure_tolerances.py` in words."""

from collections.abc import Iterable
from statistics import median, median_high, median_low
from typing import Any

from attribound.rounding import round_down
from attribound.tolerances.words import interval_text


def page(found: dict[str, Any]) -> str:
    """The tables in words."""
    rows = [
        f"| {run} | {name} | {one['inputs']} | {_proof(one, known['samples'])} | {_interval(one['range'])} | "
        f"{_interval(next(iter(one['median_reach'].values())))} | {next(iter(one['whole_range'].values()))} | "
        f"{_interval(one['median_class_reach'])} | {one['unit']} | {round_down(one['median_fidelity'], 3)} | "
        f"{one['seconds']:.0f} | {one['bytes'] / 1000:.0f} |"
        for run, known in found["runs"].items()
        for name, one in known["changes"].items()
        if one["inputs"]
    ]
    combined = [
        f"| {run} | {one['inputs']} | {', '.join(one['changes'])} | {one['noise']} | {one['samples']:,} | "
        f"{round_down(one['median_epsilon'], 2)} | {round_down(one['median_fidelity'], 3)} |"
        for run, one in found["together"].items()
    ]
    all_photographs = [
        line
        for kind in ("exact", "scan4k", "light1k")
        if {f"{kind}-imagenet", f"{kind}-photos"} <= set(found["runs"])
        for line in _both(found["runs"][f"{kind}-imagenet"], found["runs"][f"{kind}-photos"])
    ]
    chances = [f"{run} {known['chance']:.2f}" for run, known in found["runs"].items() if known["chance"] is not None]
    return "\n".join(
        [
            *_HEAD,
            *rows,
            "",
            f"Chance, the 90 % quantile of the cosines between plain maps of different inputs: {', '.join(chances)}.",
            "",
            *(_ALL if all_photographs else []),
            *all_photographs,
            "",
            *(_TOGETHER if combined else []),
            *combined,
            "",
            *_checked(found),
            "",
        ]
    )


def _both(run: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """A line for each change that both runs made: medians over the inputs of both."""
    lines = []
    for name, one in run["changes"].items():
        two = other["changes"].get(name)
        if two is None or "reaches" not in one or "reaches" not in two:
            continue
        reaches = one["reaches"] + two["reaches"]
        lines.append(
            f"| {name} | {len(reaches)} | {_proof(one, run['samples'])} | {_interval(one['range'])} | "
            f"{_interval(_median_reach(reaches, one['unit']))} | "
            f"{sum(reach is not None and tuple(reach) == tuple(one['range']) for reach in reaches)} | {one['unit']} | "
            f"{round_down(median(one['fidelities'] + two['fidelities']), 3)} |"
        )
    return lines


def _median_reach(reaches: list[Any], unit: str) -> tuple[float, float]:
    """Each end's median, the end nearer to no change where the number of inputs is even; nothing proved counts as 0."""
    nothing = {"times": (1.0, 1.0), "quality": (100.0, 100.0)}.get(unit, (0.0, 0.0))
    lows, highs = zip(*(reach or nothing for reach in reaches), strict=True)
    return median_high(lows), median_low(highs)


def _proof(change: dict[str, Any], samples: int) -> str:
    return "exact" if "exact" in change["proofs"] else f"alpha, {samples:,} draws"


def _interval(ends: Any) -> str:
    return interval_text(None if ends is None else tuple(ends))


def _checked(found: dict[str, Any]) -> list[str]:
    checks = found["checks"].values()
    lists, scans = [one for one in checks if "alternatives" in one], [one for one in checks if "ends" in one]
    ends = [end for one in scans for end in one["ends"] if end["true"] > 0]
    lines = ["## Checks", ""]
    if lists:
        apart = max(one["largest_difference"] for one in lists)
        total = sum(one["alternatives"] for one in lists)
        lines.append(f"- Exact: {total:,} alternatives computed anew, alone: cosines differ by {apart:.1g} at most.")
    if scans:
        inside, draws = sum(one["positions_inside"] for one in scans), _between(one["draws"] for one in scans)
        lines.append(
            f"- Scanned: {len(scans)} dense scans of {draws} draws of their own; {inside:,} positions "
            f"inside proved reaches, {sum(one['violated'] for one in scans)} scans contradict a proof."
        )
        spent = 1e6 * found["bookkeeping_seconds_per_draw"]
        lines.append(f"- Bookkeeping of a scan: {spent:.0f} microseconds of the processor per draw (maps of 7 x 7).")
    lines += _ratios(found)
    if broken := [end["broken"] / end["true"] for end in ends if "broken" in end]:
        lines.append(
            f"- Broken end / true reach, {len(broken)} ends: median {median(broken):.2f}, largest {max(broken):.2f}."
        )
    return lines


def _between(numbers: Iterable[int]) -> str:
    """The smallest and the largest, or the only one."""
    found = sorted(set(numbers))
    return f"{found[0]:,}" if len(found) == 1 else f"{found[0]:,} to {found[-1]:,}"


def _ratios(found: dict[str, Any]) -> list[str]:
    """Proved over true reach, for each number of draws."""
    ratios: dict[int, list[float]] = {}
    for key, one in found["checks"].items():
        draws = found["runs"][key.split()[0]]["samples"]
        ratios.setdefault(draws, []).extend(
            end["proved"] / end["true"] for end in one.get("ends", []) if end["true"] > 0
        )
    return [
        f"- Proved / true reach with {draws:,} draws, {len(found)} ends inside the range: median {median(found):.2f}."
        for draws, found in sorted(ratios.items())
        if found
    ]


_HEAD = """# Tolerances of everyday changes

Made by `python scripts/experiments/measure_tolerances.py RUN ... --check N` from runs such as

    attribound tolerance --model efficientnet-lite0.safetensors --arch efficientnet-lite0 --data photos \\
        --attribution gradcam --map centred --change rotation:45 --change zoom:50% --change contrast:2.5 \\
        --change gamma:2.5 --samples 1024 --out scan1k-photos

Cosine 0.8, windows of an eighth of the range. Alpha is 0.001 for all that one run scans about one input: what two runs
say about it is false with probability at most 0.002. Exact rows are about the plain map, scanned ones about
window means.
Medians over inputs; `whole`: inputs proved over all of the range;
wall-clock seconds on a machine that did other work too; kB of a stored record. `photos` are the four shipped ones,
`imagenet` those of foolbox in alphabetical order (EfficientNet-Lite0, centred Grad-CAM, float32, about 32 ms of one
core a map); `digits` the first shipped ones (consistency training), `cifar10` the first test pictures (ResNet-20
trained with noise). `sheet-imagenet` asks eight changes of a photograph in one run, in bfloat16: everything it says
about one photograph is false with probability at most 0.001; made on a faster processor with little beside. The
number of inputs is that of the records made so far: the same commands continue the runs.

| run | change | inputs | proof | tried | reach at 0.8 | whole | class stays | unit | fidelity | s | kB |
|---|---|---|---|---|---|---|---|---|---|---|---|""".splitlines()

_ALL = """## All 24 photographs

The four shipped photographs and the twenty of foolbox together. Medians of each end. Rotation and zoom are one run,
contrast and gamma another: alpha is 0.001 for each pair.

| change | inputs | proof | tried | median reach at 0.8 | whole | unit | fidelity |
|---|---|---|---|---|---|---|---|""".splitlines()

_TOGETHER = """## All at once

Runs of `attribound certify --change ... --noise gaussian:S`: epsilon(0.8) counts the amounts named.

| run | inputs | units | noise | draws | median epsilon(0.8) | fidelity |
|---|---|---|---|---|---|---|""".splitlines()
