"""The pictures of the page: one card per input, with its rows, within a budget of characters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from attribound.certificates.record import Failure
from attribound.checks import FloatArray
from attribound.report.shared import images
from attribound.report.tolerance.rows import Row, make_row
from attribound.report.tolerance.words import title
from attribound.runs import Store
from attribound.runs.proving import Proved
from attribound.tolerances.record import ToleranceRecord
from attribound.tolerances.strip import FRAMES, MAP_SIDE, Strip

MOST_CARDS = 24
"""Inputs with a card: a page with more would be too large to share."""
_CHARACTERS = 4_500_000
"""For all frames of all cards."""
_MOST_EACH, _LEAST_EACH, _MOST_BASE = 9_000, 1_200, 16_000
_TINY = 64
"""Pictures up to this many pixels wide are enlarged pixel by pixel."""

Known = Mapping[str, Proved[ToleranceRecord] | Failure]


@final
@dataclass(frozen=True)
class Card:
    """One input.

    Attributes:
        item: its number.
        label: its name, its class and what the model says, in words.
        rows: one per change.
        base: the unchanged picture as a data URI; empty if none is kept.
        reference: the plain map; empty if none is kept.
        over: maps are laid over the unchanged picture.
        large: it is so large that enlarging it needs smoothing.
    """

    item: int
    label: str
    rows: list[Row]
    base: str = ""
    reference: str = ""
    over: bool = False
    large: bool = False


def shown_items(store: Store) -> list[int]:
    """The inputs that get a card: those with film strips, else with pictures, else the first."""
    return (store.pictured("strip:%") or store.pictured("input") or sorted(store.done()))[:MOST_CARDS]


def make_cards(store: Store, known: Mapping[int, Known], classes: dict[int, str]) -> list[Card]:
    """Cards of inputs.

    Args:
        store: the run.
        known: by item and change, what is proved about it.
        classes: names of the classes by number.
    """
    changes = max((len(one) for one in known.values()), default=1)
    frames = max(len(known) * changes * 2 * (FRAMES + 1), 1)
    budget = max(min(_CHARACTERS // frames, _MOST_EACH), _LEAST_EACH)
    return [_card(store.pictures(item), item, parts, classes, budget) for item, parts in known.items()]


def _card(pictures: dict[str, FloatArray], item: int, parts: Known, classes: dict[int, str], budget: int) -> Card:
    strips = {name: Strip.read(pictures, name) for name in parts}
    image, plain = pictures.get("input"), pictures.get("plain")
    if image is None or plain is None or not (images.is_picture(image) and images.is_picture(plain)):
        bare = [_row(name, one, None, {}, classes) for name, one in parts.items()]
        return Card(item, _label(parts, classes), bare)
    over = plain.shape[-2:] != image.shape[-2:]
    maps = images.draw_maps(_planes(plain, strips, pictures), budget, over=over)
    drawn = {name: _drawn(name, strip, pictures, maps, budget) for name, strip in strips.items()}
    rows = [_row(name, one, strips[name], drawn[name], classes) for name, one in parts.items()]
    base, large = images.draw_input(image, _MOST_BASE), max(image.shape[-2:]) > _TINY
    return Card(item, _label(parts, classes), rows, base, maps["plain"], over, large)


def _planes(
    plain: FloatArray, strips: Mapping[str, Strip | None], pictures: Mapping[str, FloatArray]
) -> dict[str, FloatArray]:
    """All maps of one input, equally small, for they share one scale."""
    found = {"plain": plain}
    for name, strip in strips.items():
        frames = [] if strip is None else list(strip.maps)
        found |= {f"{name}/frame:{at}": plane for at, plane in enumerate(frames)}
        found |= {
            f"{name}/break:{kept.rpartition(':')[2]}": values
            for kept, values in pictures.items()
            if kept.startswith(f"broken-map:{name}:") and values.shape == plain.shape
        }
    return {name: images.shrunk(images.plane(values), MAP_SIDE) for name, values in found.items()}


def _drawn(
    name: str, strip: Strip | None, pictures: Mapping[str, FloatArray], maps: Mapping[str, str], budget: int
) -> dict[str, dict[str, str]]:
    """Pictures and maps of one change by the names of its frames and breaks."""
    inputs = {} if strip is None else {f"frame:{at}": values / 255 for at, values in enumerate(strip.inputs)}
    start = f"broken:{name}:"
    inputs |= {
        f"break:{kept.removeprefix(start)}": values for kept, values in pictures.items() if kept.startswith(start)
    }
    return {
        key: {"picture": images.draw_input(values, budget), "map": maps[f"{name}/{key}"]}
        for key, values in inputs.items()
        if images.is_picture(values) and f"{name}/{key}" in maps
    }


def _row(
    name: str,
    one: Proved[ToleranceRecord] | Failure,
    strip: Strip | None,
    drawn: dict[str, dict[str, str]],
    classes: dict[int, str],
) -> Row:
    if isinstance(one, Failure):
        return Row(name, title(name), failure=f"Failed: {one.message}")
    return make_row(one, strip, drawn, classes)


def _label(parts: Known, classes: dict[int, str]) -> str:
    """The name and the class of an input and what the model says, in words."""
    record = next((one.record for one in parts.values() if isinstance(one, Proved)), None)
    if record is None:
        return "failed"
    said, target = (classes.get(number, str(number)) for number in (record.prediction, record.target))
    label = "" if record.label in (None, record.prediction) else f", labelled {classes.get(record.label, record.label)}"
    name = f"{record.subject.input}; " if record.subject.input else ""
    return f"{name}the model says {said}{label}" + ("" if said == target else f"; explained: {target}")
