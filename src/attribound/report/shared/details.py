"""What the page can enlarge: pictures, measured cosines and the certificate curve of chosen records."""

import math
from typing import Any

import numpy as np

from attribound.checks import FloatArray
from attribound.report.shared import images
from attribound.report.shared.collect import Collected
from attribound.report.shared.reasons import staying
from attribound.rounding import round_down, round_up
from attribound.runs import Store
from attribound.runs.stored_maps import map_trouble

_PICTURES = 4_200_000
"""Characters for all pictures together: a page must stay small enough to mail."""
_MOST_EACH = 48_000
_MOST_FEATURES = 24
_MAPS = ("plain", "smoothed", "attacked")
_KINDS = 6


def details(store: Store, run: Collected) -> dict[int, dict[str, Any]]:
    """Details by row, for the records that can be opened."""
    budget = min(_PICTURES // max(_KINDS * len(run.drawn), 1), _MOST_EACH)
    return {row: _detail(store.pictures(run.rows[row].item), run, row, budget) for row in run.drawn}


def _detail(arrays: dict[str, FloatArray], run: Collected, row: int, budget: int) -> dict[str, Any]:
    trouble = map_trouble(arrays["smoothed"], *run.maps[row]) if "smoothed" in arrays and row in run.maps else ""
    maps = {name: arrays[name] for name in _MAPS if name in arrays and not (trouble and name == "smoothed")}
    found: dict[str, Any] = {
        "votes": run.trusted.get(row),
        "pictures": {},
        "cosines": _cosines(maps, run, row),
        "curve": run.proofs.curves.get(row, []),
        "said": run.said.get(row, {}) | ({"smoothed map": trouble} if trouble else {}),
    }
    if any(values.ndim == 1 or not images.is_picture(values) for values in maps.values()):
        return found | _features(maps, run, run.reasons.get(row, {}), arrays.get("input"))
    if "input" in arrays and images.is_picture(arrays["input"]):
        found |= _pictures(arrays, maps, run, row, budget)
    return found


def _pictures(
    arrays: dict[str, FloatArray], maps: dict[str, FloatArray], run: Collected, row: int, budget: int
) -> dict[str, Any]:
    """The input and its maps; maps that are coarser than the input are laid over it."""
    shape = arrays["input"].shape[-2:]
    over = any(values.shape[-2:] != shape for values in maps.values())
    pictures = {"input": images.draw_input(arrays["input"], budget), **images.draw_maps(maps, budget, over=over)}
    found: dict[str, Any] = {"pictures": pictures, "large": max(shape) > 64}
    if over:
        found["cells"] = list(next(iter(maps.values())).shape[-2:])
    change = arrays.get("change")
    if change is not None and change.shape == arrays["input"].shape and row in run.findings:
        low, high = float(arrays["input"].min()), float(arrays["input"].max())
        pictures["struck"] = images.draw_input(np.clip(arrays["input"] + change, low, high), budget)
        pictures["change"], factor = images.draw_change(change, budget)
        found["change"] = {"factor": f"{factor:.3g}", "length": round_up(run.findings[row].length, 3)}
    return found


def _features(
    maps: dict[str, FloatArray], run: Collected, reasons: dict[int, float], cells: FloatArray | None
) -> dict[str, Any]:
    """The largest values of maps that are rows of numbers, with names where there are any, and how far they stay."""
    flat = {name: values.ravel() / (np.linalg.norm(values) or 1.0) for name, values in maps.items()}
    main = flat.get("smoothed", next(iter(flat.values())))
    largest = np.argsort(-np.abs(main), kind="stable")[:_MOST_FEATURES]
    named = len(run.features) == len(main)
    titles = list(map(run.codebook.title, run.features)) if named else [str(at) for at in range(len(main))]
    now = _values(run, cells) if named and cells is not None and cells.size == len(main) else [""] * len(main)
    return {
        "features": {
            "names": [f"{titles[at]}: {now[at]}" if now[at] else titles[at] for at in largest],
            "staying": staying(reasons, titles, assumed=run.assumed),
            "of": len(main),
            "places": largest.tolist(),
            "values": {
                name: [round(float(values[at]), 4) for at in largest]
                for name, values in flat.items()
                if len(values) == len(main)
            },
        }
    }


def _values(run: Collected, cells: FloatArray) -> list[str]:
    """A row's cells as people write them; stored in float32, so with as many digits as that holds."""
    written = [float(str(np.float32(cell))) for cell in cells.ravel()]
    cells_by_name = zip(run.features, written, strict=True)
    return ["" if math.isinf(value) else run.codebook[name].text(value) for name, value in cells_by_name]


def _cosines(maps: dict[str, FloatArray], run: Collected, row: int) -> dict[str, str]:
    """Cosine of the other maps with the smoothed one: as sampled, and for the attack as it was scored."""
    found = {}
    if "plain" in maps and "smoothed" in maps and maps["plain"].shape == maps["smoothed"].shape:
        found["plain"] = round_down(images.cosine(maps["plain"], maps["smoothed"]), 3)
    if "attacked" in maps and row in run.findings:
        found["attacked"] = round_down(run.findings[row].worst, 3)
    return found
