"""What the page can enlarge: pictures, measured cosines and the certificate curve of chosen records."""

import math
from typing import Any

import numpy as np

from attribound.checks import FloatArray
from attribound.report import images
from attribound.report.collect import Collected
from attribound.runs import Store

MOST = 200
"""So many records can be opened; a page with more would be too large to share."""
_PICTURES = 2_400_000
"""Characters for all pictures together: with plotly's 4.8 MB the page stays below 8 MB."""
_MOST_EACH = 16_000
_MOST_FEATURES = 64
_MAPS = ("plain", "smoothed", "attacked")


def details(store: Store, run: Collected) -> dict[int, dict[str, Any]]:
    """Details by row, for the records with pictures, attacked ones first; for the first records if none has any."""
    chosen = _chosen(store, run)
    budget = min(_PICTURES // max(4 * len(chosen), 1), _MOST_EACH)
    return {row: _detail(store.pictures(run.rows[row].item), run, row, budget) for row in sorted(chosen)}


def _chosen(store: Store, run: Collected) -> list[int]:
    place = {row.item: number for number, row in enumerate(run.rows)}
    pictured = [place[item] for item in store.pictured() if item in place]
    if pictured:
        return sorted(pictured, key=lambda row: (row not in run.findings, row))[:MOST]
    return [number for number, row in enumerate(run.rows) if row.status != "error"][:MOST]


def _detail(arrays: dict[str, FloatArray], run: Collected, row: int, budget: int) -> dict[str, Any]:
    maps = {name: arrays[name] for name in _MAPS if name in arrays}
    pictures: dict[str, str] = {}
    if "input" in arrays and images.is_picture(arrays["input"]):
        same = {name: values for name, values in maps.items() if values.shape == arrays["input"].shape}
        pictures = {"input": images.draw_input(arrays["input"], budget), **images.draw_maps(same, budget)}
    found: dict[str, Any] = {"pictures": pictures, "cosines": _cosines(maps, run, row), "curve": _curve(run, row)}
    features = {name: values for name, values in maps.items() if values.ndim == 1 and len(values) <= _MOST_FEATURES}
    if features:
        unit = {name: values / (np.linalg.norm(values) or 1.0) for name, values in features.items()}
        found["features"] = {name: [round(float(value), 5) for value in values] for name, values in unit.items()}
    return found


def _cosines(maps: dict[str, FloatArray], run: Collected, row: int) -> dict[str, str]:
    """Cosine of the other maps with the smoothed one: as sampled, and for the attack as it was scored."""
    found = {}
    if "plain" in maps and "smoothed" in maps and maps["plain"].shape == maps["smoothed"].shape:
        found["plain"] = f"{images.cosine(maps['plain'], maps['smoothed']):.3f}"
    if "attacked" in maps and row in run.findings:
        found["attacked"] = f"{run.findings[row]['worst']:.3f}"
    return found


def _curve(run: Collected, row: int) -> list[int]:
    """Proved cosines in thousandths, rounded down; -1 once nothing is proved."""
    return [math.floor(1000 * value) if value >= 0 else -1 for value in run.proofs.curves[row].tolist()]
