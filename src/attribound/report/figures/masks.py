"""The trust mask: which cells of a map may be relied on, drawn over the input.

Proved hot in colour, proved cold faded, unproved hatched: three kinds that differ in more than their colour.
"""

from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from attribound.checks import FloatArray
from attribound.errors import ArgumentError
from attribound.report.shared import images
from attribound.rounding import round_down

HOT, COLD, UNPROVED, HATCH = "#e69f00", "#ffffff", "#9fc2dd", "#0b3c5d"
"""Okabe and Ito's orange; white; blues: told apart without red-green vision, and by the hatching in grey."""

Marks = npt.NDArray[np.int8]


def grid_of(marks: Marks) -> Marks:
    """(H, W): a mask with one channel, or none."""
    plane = marks[0] if marks.ndim == 3 and len(marks) == 1 else marks
    if plane.ndim != 2:
        raise ArgumentError(f"expected cells in rows and columns, got marks of shape {marks.shape}")
    return plane


def words(marks: Marks, epsilon: float) -> str:
    """How many cells are proved at that size of change."""
    hot, cold = int((marks > 0).sum()), int((marks < 0).sum())
    size = round_down(Decimal(repr(float(epsilon))), 3)
    return f"{hot} hot and {cold} cold of {marks.size} cells proved at epsilon {size}"


def draw(axes: Any, marks: Marks, image: FloatArray | None, epsilon: float) -> None:
    """Draw a mask over an image, or by itself, on matplotlib axes."""
    grid = grid_of(marks)
    shown = None if image is None else images.stretched(image)
    height, width = grid.shape if shown is None else shown.shape[:2]
    if shown is None:
        axes.imshow(np.full(grid.shape, 0.6), cmap="gray", vmin=0, vmax=1)
    else:
        axes.imshow(shown, cmap="gray", vmin=0, vmax=1)
    tall, wide = height / grid.shape[0], width / grid.shape[1]
    looks = {
        1: {"facecolor": HOT, "alpha": 0.55, "label": "proved hot"},
        -1: {"facecolor": COLD, "alpha": 0.7, "label": "proved cold"},
        0: {"facecolor": UNPROVED, "edgecolor": HATCH, "hatch": "////", "lw": 0.0, "alpha": 0.6, "label": "unproved"},
    }
    for mark, look in looks.items():
        rows, columns = np.nonzero(grid == mark)
        centres = columns * wide - 0.5
        for row, left in zip(rows, centres, strict=True):
            axes.bar(left, tall, width=wide, bottom=row * tall - 0.5, align="edge", **look)
            look.pop("label", None)
    axes.set_xlim(-0.5, width - 0.5)
    axes.set_ylim(height - 0.5, -0.5)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_title(words(marks, epsilon).replace(" of ", "\nof "), fontsize=7)
    axes.legend(fontsize=6, loc="lower right", framealpha=0.9)
