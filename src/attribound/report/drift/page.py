"""The page of a comparison: which explanations moved between two runs, and how we know."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from attribound.checks import FloatArray
from attribound.report.drift.lines import Lines, settings
from attribound.report.shared import images
from attribound.report.shared.legend import legend_of
from attribound.report.shared.templating import fill
from attribound.rounding import exact_text, round_down
from attribound.runs.compare import Comparison, Pair
from attribound.runs.store import Store

MOST_ROWS, MOST_PICTURES = 2_000, 24
"""How many pairs the page's table holds and how many are drawn: what changed first."""
_BUDGET = 24_000
_FEATURES = 6
_FACTS = ("model", "data", "attribution", "maps", "noise", "bound", "samples", "alpha", "model_sha256", "data_sha256")


def render(found: Comparison, runs: tuple[Path, Path]) -> str:
    """The page as text."""
    ordered = found.ordered
    with Store.read(runs[0]) as first, Store.read(runs[1]) as second:
        cards = [_card(pair, (first, second), found) for pair in ordered[:MOST_PICTURES]]
    shown = min((pair.interval[0] for pair in ordered if pair.interval), default=0.0)
    low = min(max(np.floor(10 * min(shown, found.cosine)) / 10 - 0.1, -1.0), 0.9)
    return fill(
        "drift/templates/compare.html",
        found=found,
        threshold=exact_text(found.cosine),
        medians=[[key, *(round_down(one) for one in both)] for key, both in found.medians.items()],
        rows=[_row(pair, found, float(low)) for pair in ordered[:MOST_ROWS]],
        left=max(len(ordered) - MOST_ROWS, 0),
        cosines=list(found.medians),
        cards=[card for card in cards if card["pictures"] or card["features"]],
        facts=settings(found, _FACTS),
        legend=_legend(found),
        low=f"{low:.1f}",
    )


def lines(found: Comparison) -> Lines:
    """For a pull request."""
    epsilons = [f"epsilon at {key}: before, after" for key in found.medians]
    rows = [
        [pair.number, _name(pair.label, found), pair.shown, pair.verdict, *_epsilons(pair), pair.reason]
        for pair in found.ordered
    ]
    return Lines("Drift of explanations", ["input", "class", "cosine", "verdict", *epsilons, "note"], rows)


def _epsilons(pair: Pair) -> list[str]:
    return [f"{round_down(before)}, {round_down(after)}" for before, after in pair.epsilons.values()]


def _name(label: int | None, found: Comparison) -> str:
    if label is None:
        return "unknown"
    return found.classes[label] if 0 <= label < len(found.classes) else str(label)


def _row(pair: Pair, found: Comparison, low: float) -> dict[str, Any]:
    """One line of the table; places are in percent of the axis from `low` to 1."""

    def place(value: float) -> str:
        return f"{100 * (max(value, low) - low) / (1 - low):.1f}"

    bar = None
    if pair.interval is not None:
        left, right = (float(place(value)) for value in pair.interval)
        bar = {"left": f"{left:.1f}", "width": f"{max(right - left, 1.0):.1f}", "mark": place(found.cosine)}
    explained = [_name(target, found) for target in pair.targets]
    return {
        "input": pair.number,
        "class": _name(pair.label, found),
        "explained": explained[0] if pair.targets[0] == pair.targets[1] else " → ".join(explained),
        "shown": pair.shown,
        "bar": bar,
        "verdict": pair.verdict,
        "epsilons": [[round_down(before), round_down(after)] for before, after in pair.epsilons.values()],
        "note": pair.reason,
    }


def _card(pair: Pair, stores: tuple[Store, Store], found: Comparison) -> dict[str, Any]:
    """Pictures of one input and of its two maps, or the largest features of both."""
    kept = [store.pictures(item, "input", "smoothed") for store, item in zip(stores, pair.items, strict=True)]
    maps = {name: one["smoothed"] for name, one in zip(("before", "after"), kept, strict=True) if "smoothed" in one}
    image = kept[0].get("input", kept[1].get("input"))
    card: dict[str, Any] = {"pair": pair, "input": pair.number, "class": _name(pair.label, found), "shown": pair.shown}
    alike = len({values.shape for values in maps.values()}) == 1
    pictured = alike and all(images.is_picture(values) for values in maps.values())
    drawn: dict[str, str] = {}
    if pictured:
        over = (
            image is not None and images.is_picture(image) and next(iter(maps.values())).shape[-2:] != image.shape[-2:]
        )
        drawn = images.draw_maps(maps, _BUDGET, over=over)
        if image is not None and images.is_picture(image):
            drawn = {"input": images.draw_input(image, _BUDGET)} | drawn
        card["over"] = over
    features = {} if pictured else {name: _largest(values, stores[0]) for name, values in maps.items()}
    return card | {"pictures": drawn, "features": features}


def _largest(values: FloatArray, store: Store) -> str:
    """The largest features of a map by name, with their shares of its length."""
    flat = values.ravel() / (np.linalg.norm(values) or 1.0)
    stored = store.names("features")
    names = stored if len(stored) == flat.size else range(flat.size)
    order: Iterable[int] = np.argsort(-np.abs(flat), kind="stable")[:_FEATURES].tolist()
    return ", ".join(f"{names[at]} {flat[at]:+.2f}" for at in order)


def _legend(found: Comparison) -> str:
    """What the colours mean, of both runs if they differ in it."""
    before, after = (legend_of(config.attribution, config.maps).sentence for config in found.configs)
    return before if before == after else f"Before: {before} After: {after}"
