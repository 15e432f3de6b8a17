"""Draw docs/images/scan.png, trees.png and photograph.png: `python scripts/assets/make_theory_figures.py`.

The scan: which draws make a window, and what is proved about a digit that is turned. The search: the cells of two
columns of an applicant, and the boxes on which the shipped forest's first reason was proved to stay. The sheet of the
tutorial about a photograph. Half a minute on one core.
"""

from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from matplotlib.patches import Ellipse, Rectangle
from PIL import Image, ImageOps

import attribound as ab
from attribound.data import open_data
from attribound.forests import nearest, search
from attribound.models import load_shipped
from attribound.report.figures import plots
from attribound.report.figures.plots import Picture

IMAGES = Path(__file__).parents[2] / "docs" / "images"
BLUE, PALE, ORANGE, GREY, INK = "#0b5fa5", "#c9dcec", "#b35806", "#d9d9d9", "#333333"
COSINE, DIGIT, DEGREES, SAMPLES = 0.8, 3, 45, 2048
APPLICANT, COLUMNS, VIEW = 7, ("credit_amount", "age"), 1.5
TITLES = {"duration": "duration (months)", "credit_amount": "credit amount (DM)", "age": "age (years)"}
CHANGES = ("rotation:30", "brightness:60", "jpeg:30", "shift-x:4")


# --- the scan


def draw_scan() -> Picture:
    """What a window is, beside what was proved."""
    figure = Picture(figsize=(9.0, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.15))
    _draw_windows(left)
    _draw_curve(right)
    return figure


def _draw_windows(axes: Any) -> None:
    """Cells with one draw each, and two neighbouring windows."""
    draws = np.arange(24) + np.random.default_rng(3).uniform(0.15, 0.85, 24)
    axes.vlines(np.arange(25), -0.25, 0.25, color=GREY, linewidth=1)
    axes.plot(draws, np.zeros(24), ".", color=INK, markersize=6)
    for low, height, colour, ink, name in ((4, 1.0, BLUE, "white", "$h(t_j)$"), (6, 1.8, PALE, INK, "$h(t_{j+1})$")):
        axes.add_patch(Rectangle((low, height - 0.3), 12, 0.6, color=colour, linewidth=0))
        axes.vlines([low, low + 12], 0.25, height - 0.3, color=INK, linewidth=0.6, linestyle=":")
        axes.text(low + 6, height, f"{name}: mean of 12 draws", ha="center", va="center", fontsize=9, color=ink)
    for at, name in ((5, "lost"), (17, "gained")):
        axes.add_patch(Rectangle((at - 1, -0.25), 2, 0.5, color=ORANGE, alpha=0.35, linewidth=0))
        axes.text(at, -0.75, name, ha="center", fontsize=8, color=ORANGE)
    axes.annotate("", (24.6, -1.1), (-0.6, -1.1), arrowprops={"arrowstyle": "->", "color": INK})
    axes.text(24.4, -1.55, "amount of change, t", ha="right", fontsize=8)
    axes.text(-0.4, -1.55, "one draw in every cell", fontsize=8)
    axes.set(xlim=(-1, 25), ylim=(-2.0, 2.5))
    axes.set_title("Neighbouring windows share nearly all draws", fontsize=10)
    axes.axis("off")


def _draw_curve(axes: Any) -> None:
    """How far the maps of a digit turn when the digit turns, and what is proved about it."""
    field = ab.Unit(ab.Saliency(load_shipped("mnist-cnn-noise")))
    sheet = ab.tolerance(field, open_data("mnist-sample").input(DIGIT), f"rotation:{DEGREES}", samples=SAMPLES, seed=0)
    low, high = sheet["rotation"].reach(COSINE)
    curve, wanted = sheet["rotation"].curve(), float(np.degrees(np.arccos(COSINE)))
    axes.axvspan(low, high, color=PALE, linewidth=0)
    axes.axhline(wanted, color=ORANGE, linewidth=1.2, linestyle="--")
    axes.text(DEGREES - 1, wanted - 5, f"{wanted:.0f} degrees: cosine {COSINE}", ha="right", fontsize=8, color=ORANGE)
    axes.plot(curve.t, curve.proved, color=BLUE, linewidth=1.8, label="proved: at most this, everywhere at once")
    axes.plot(curve.t, curve.sampled, color=INK, linewidth=1, label="sampled")
    axes.text(low + 0.5, 1.5, "reach", fontsize=9, color=BLUE)
    axes.set(xlim=(-DEGREES, DEGREES), ylim=(0, 92))
    axes.set_title("A digit is turned: how far its explanation turns", fontsize=10)
    axes.set_xlabel("the digit turns by (degrees)", fontsize=8)
    axes.set_ylabel("angle to the map shown (degrees)", fontsize=8)
    axes.tick_params(labelsize=8)
    axes.legend(fontsize=8, frameon=False, loc="upper center")
    axes.spines[["top", "right"]].set_visible(False)


# --- the search


class Watched(search.Search):
    """The search itself, which writes down every box that it opened and whether the statement was proved there."""

    boxes: ClassVar[list[tuple[np.ndarray, np.ndarray, bool]]] = []

    def __init__(self, tables: Any, near: Any, *arguments: Any, **options: Any) -> None:
        super().__init__(tables, near, *arguments, **options)
        self._cells = [near[axis.column] for axis in tables.axes]
        Watched.boxes = []

    def _open(self, box: Any) -> None:
        ranges, before = self._trim(box), (self._pushed, self._limit)
        super()._open(box)
        ends = [(cells.low[low], cells.high[high]) for cells, (low, high) in zip(self._cells, ranges, strict=True)]
        lower, upper = np.clip(np.array(ends).reshape(-1, 2).T, -1e6, 1e6)
        Watched.boxes.append((lower, upper, before == (self._pushed, self._limit)))


def draw_search() -> Picture:
    """The cells of two columns, beside the boxes that were proved."""
    data, shap = open_data("credit-sample"), load_shipped("credit-forest").explainer
    places = sorted(data.features.index(name) for name in COLUMNS)
    sheet = search_two(shap, data, APPLICANT, places)
    figure = Picture(figsize=(9.0, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    _draw_cells(left, shap, sheet, places)
    _draw_boxes(right)
    for axes in (left, right):
        _draw_reach(axes, sheet, places)
    left.set_ylabel(TITLES[data.features[places[1]]], fontsize=8)
    return figure


def search_two(shap: Any, data: Any, item: int, places: list[int]) -> Any:
    """The sheet of a row of which only two columns move; `Watched.boxes` are those of its search."""
    nearest.Search = Watched  # type: ignore[misc]
    fixed = [name for place, name in enumerate(data.features) if place not in places]
    return ab.tolerance(shap, data.input(item).double().numpy(), "columns", codebook=data.codebook, fixed=fixed)


def _draw_cells(axes: Any, shap: Any, sheet: Any, places: list[int]) -> None:
    """Every cell: whether the first reason stays."""
    cuts = [np.array([-1e6, *shap.forest.axes[place].cuts, 1e6]) for place in places]
    middles = [(one[:-1] + one[1:]) / 2 for one in cuts]
    rows = np.repeat(sheet.row[None], len(middles[0]) * len(middles[1]), axis=0)
    rows[:, places] = [(one, two) for one in middles[0] for two in middles[1]]
    reasons = np.argmax(sheet.side * shap.explain([sheet.row, *rows]), axis=1)
    for (one, two), holds in np.ndenumerate((reasons[1:] == reasons[0]).reshape(len(middles[0]), -1)):
        low, high = np.array([cuts[0][one], cuts[1][two]]), np.array([cuts[0][one + 1], cuts[1][two + 1]])
        colour, hatch = (PALE, None) if holds else (ORANGE, "///")
        axes.add_patch(Rectangle(low, *(high - low), facecolor=colour, hatch=hatch, edgecolor="white", linewidth=0.6))
    axes.set_title("Every cell: the first reason stays (blue) or not (orange)", fontsize=10)


def _draw_boxes(axes: Any) -> None:
    """The boxes on which it was proved."""
    proved = [(low, high) for low, high, done in Watched.boxes if done]
    for low, high in proved:
        axes.add_patch(Rectangle(low, *(high - low), facecolor=PALE, edgecolor=BLUE, linewidth=1.3))
    axes.set_title(f"The search: proved on {len(proved)} boxes of cells", fontsize=10)


def _draw_reach(axes: Any, sheet: Any, places: list[int]) -> None:
    """The row, what is proved around it, and the nearest change that breaks it."""
    row, units, broken = sheet.row[places], sheet.units[places], sheet.together.nearest[places]
    reach = sheet.together.reach
    axes.add_patch(Ellipse(row, *(2 * reach * units), fill=False, edgecolor=INK, linewidth=1.6))
    axes.plot(*row, "o", color=INK, markersize=6)
    axes.plot(*broken, "*", color=ORANGE, markersize=14, markeredgecolor="white")
    axes.set(xlim=row[0] + VIEW * reach * units[0] * np.array([-1, 1]))
    axes.set(ylim=row[1] + VIEW * reach * units[1] * np.array([-1, 1]))
    axes.set_xlabel(TITLES[sheet.columns[places[0]]], fontsize=8)
    axes.tick_params(labelsize=8)


# --- the photograph


def draw_photograph() -> Picture:
    """The sheet of docs/tutorials/photograph.md."""
    photo = Image.open(files("attribound.data") / "photos" / "281_tabby" / "chelsea.jpg")
    fitted = ImageOps.fit(photo, (32, 32))
    model = load_shipped("cifar10-resnet20")
    return ab.plot(ab.tolerance(model, fitted, CHANGES, method="gradcam", samples=1024, seed=0))


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name, draw in (("scan", draw_scan), ("trees", draw_search), ("photograph", draw_photograph)):
        plots.save(draw(), IMAGES / f"{name}.png")
        with Image.open(IMAGES / f"{name}.png") as drawn:
            drawn.convert("RGB").quantize(64).save(IMAGES / f"{name}.png", optimize=True)
