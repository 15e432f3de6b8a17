"""Pictures of certificates. The only file that imports matplotlib."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg", force=False)

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attribound.certificates.certificate import Certificate
from attribound.checks import FloatArray

Picture = Figure
"""What every function here returns."""

MAP_COLOURS = "RdBu_r"
"""Diverging and readable without red-green vision; zero is neutral."""


def plot(certificate: Certificate, image: FloatArray | None = None, plain: FloatArray | None = None) -> Figure:
    """One row: input, plain map, smoothed map (where they are images) and the certified cosine over epsilon."""
    return plot_rows([certificate], [image], [plain])


def plot_rows(
    certificates: Sequence[Certificate],
    images: Sequence[FloatArray | None],
    plains: Sequence[FloatArray | None],
    title: str = "",
) -> Figure:
    """One row per certificate."""
    figure, axes = pyplot.subplots(
        len(certificates),
        4,
        figsize=(10.5, 2.35 * len(certificates) + 0.5),
        squeeze=False,
        gridspec_kw={"width_ratios": [1, 1, 1, 1.7]},
        layout="constrained",
    )
    for row, certificate, image, plain in zip(axes, certificates, images, plains, strict=True):
        _draw_image(row[0], image, f"input, explained as {certificate.target}")
        _draw_map(row[1], plain, "plain map")
        _draw_map(row[2], certificate.attribution, "smoothed map")
        _draw_curve(row[3], certificate)
    if title:
        figure.suptitle(title, fontsize=11)
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write a figure as PNG and free it."""
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _as_picture(values: FloatArray) -> FloatArray | None:
    """(C, H, W) or (H, W) summed over channels; None for anything that is not a picture."""
    if values.ndim == 3:
        return np.asarray(values.sum(axis=0))
    return values if values.ndim == 2 else None


def _draw_image(axes: Axes, image: FloatArray | None, title: str) -> None:
    picture = None if image is None else _as_picture(image)
    if picture is None or image is None:
        axes.set_axis_off()
        return
    shown: Any = np.moveaxis(image, 0, -1) if image.ndim == 3 and len(image) == 3 else picture
    axes.imshow(np.clip(shown, 0, 1), cmap="gray", vmin=0, vmax=1)
    _finish(axes, title)


def _draw_map(axes: Axes, values: FloatArray | None, title: str) -> None:
    picture = None if values is None else _as_picture(values)
    if picture is None:
        axes.set_axis_off()
        return
    span = float(np.quantile(np.abs(picture), 0.995)) or 1.0
    axes.imshow(picture, cmap=MAP_COLOURS, vmin=-span, vmax=span)
    _finish(axes, title)


def _finish(axes: Axes, title: str) -> None:
    axes.set_title(title, fontsize=9)
    axes.set_xticks([])
    axes.set_yticks([])


def _draw_curve(axes: Axes, certificate: Certificate) -> None:
    """Certified cosine over epsilon, with the paper's invalid curve dashed."""
    end = max(certificate.max_epsilon(0.0) * 1.25, 1e-6 * certificate.law.scale)
    epsilons = np.linspace(0, end, 81)
    certified = np.array([certificate.cosine(e) for e in epsilons])
    name = "assumed limit: NOT certified" if certificate.assumed else "certified"
    shown = certified >= 0
    axes.plot(epsilons[shown], certified[shown], color="#0b5fa5", label=name)
    axes.fill_between(epsilons[shown], 0, certified[shown], color="#0b5fa5", alpha=0.12)
    axes.plot(
        epsilons,
        [certificate.cosine_paper(e) for e in epsilons],
        color="#b35806",
        ls="--",
        lw=1,
        label="paper's formula (not a guarantee)",
    )
    axes.set_ylim(0, 1.02)
    axes.set_xlim(0, end)
    axes.set_xlabel("epsilon (l2 size of the change)", fontsize=8)
    axes.set_ylabel("cosine at least", fontsize=8)
    axes.tick_params(labelsize=8)
    axes.legend(fontsize=7, loc="lower left")


def plot_scan(scan: dict[str, Any]) -> Figure:
    """Noise levels of `tune`: what each costs in accuracy and gives in certified epsilon."""
    figure, axes = pyplot.subplots(figsize=(6, 3.6), layout="constrained")
    levels = scan["levels"]
    found = [level["median_max_epsilon"] for level in levels]
    kept = [level["accuracy_noisy"] for level in levels]
    axes.plot(found, kept, "o-", color="#0b5fa5")
    for level, x, y in zip(levels, found, kept, strict=True):
        axes.annotate(f"sigma {level['sigma']:g}", (x, y), textcoords="offset points", xytext=(5, 5), fontsize=8)
    axes.axhline(scan["accuracy"], color="#777777", ls=":", lw=1, label="accuracy without noise")
    axes.set_ylim(0, 1.05)
    axes.set_xlabel(f"median certified epsilon at cosine {scan['cosine']:g}")
    axes.set_ylabel("accuracy under noise")
    axes.legend(fontsize=8, loc="lower left")
    return figure


def plot_gaps(panels: dict[str, tuple[list[float], list[float]]]) -> Figure:
    """Sorted gaps between what attacks found and two bounds, one panel each: (sound, paper's)."""
    figure, axes = pyplot.subplots(
        1, len(panels), figsize=(3.4 * len(panels), 3), squeeze=False, sharey=True, layout="constrained"
    )
    for place, (title, (sound, paper)) in zip(axes[0], panels.items(), strict=True):
        place.plot(sound, color="#0b5fa5", label="above the certified cosine")
        place.plot(paper, color="#b35806", ls="--", label="above the paper's T (not a guarantee)")
        place.axhline(0, color="#777777", lw=0.8)
        place.set_title(title, fontsize=9)
        place.set_xlabel("images, sorted", fontsize=8)
        place.tick_params(labelsize=8)
    axes[0, 0].set_ylabel("cosine found by attacks, minus bound", fontsize=8)
    axes[0, 0].legend(fontsize=7)
    return figure


def plot_maps(rows: Sequence[dict[str, Any]]) -> Figure:
    """Rows of an input and its maps, all with the diverging scale."""
    names = list(rows[0]["maps"])
    figure, axes = pyplot.subplots(
        len(rows), 1 + len(names), figsize=(2 * (1 + len(names)), 2.15 * len(rows)), squeeze=False, layout="constrained"
    )
    for places, row in zip(axes, rows, strict=True):
        _draw_image(places[0], row["input"], f"explained as {row['target']}")
        for place, name in zip(places[1:], names, strict=True):
            _draw_map(place, row["maps"][name], name)
    return figure
