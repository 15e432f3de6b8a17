"""Pictures of certificates. The only file that imports matplotlib, and none of its backends is chosen or touched."""

import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from attribound.attacks.base import AttackResult
from attribound.certificates.certificate import Certificate
from attribound.checks import FloatArray
from attribound.errors import ArgumentError
from attribound.files import write_whole
from attribound.report.figures import masks
from attribound.report.shared import images
from attribound.report.shared.legend import Legend, legend_of
from attribound.rounding import round_down

MAP_COLOURS = "RdBu_r"
"""Diverging and readable without red-green vision; zero is neutral."""
OURS, PAPER, _BORDER = "#0b5fa5", "#b35806", "#555555"
_BARS = 15
_WIDEST = 5
"""How many panels fit side by side."""
_WIDTHS = {"image": 1.0, "curve": 1.7, "bars": 1.5}

Array = npt.ArrayLike
"""A numpy array, a torch tensor or lists of numbers."""


@final
class Picture(Figure):
    """What every function here returns: a figure that notebooks show and that belongs to no window."""

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=110)
        return file.getvalue()


Panel = tuple[str, Callable[[Axes], None]]


@final
@dataclass(frozen=True)
class _Style:
    """How a map is drawn: over which image, with which words for its two sides, with the borders of its cells."""

    image: FloatArray | None = None
    legend: Legend | None = None
    borders: bool = False


def plot(
    certificate: Certificate,
    image: Array | None = None,
    plain: Array | None = None,
    *,
    features: Sequence[str] | None = None,
    attacked: AttackResult | None = None,
    fraction: float | None = None,
    epsilon: float | None = None,
    borders: bool = False,
) -> Picture:
    """One row: input, plain and smoothed map, what an attack did, the cells that may be relied on, the certified curve.

    What is not there takes no place.

    Args:
        certificate: what is drawn.
        image: the input, (H, W), (C, H, W) or (H, W, 3). A map coarser than it is laid over it.
        plain: the map without noise.
        features: names of the features, for maps that are rows of numbers; default: those that the certificate has.
        attacked: what `attribound.attack` found: the map after it, the attacked input and the change, amplified.
        fraction: draw the trust mask at this fraction of hot cells, one of those that were counted.
        epsilon: the size of change that the trust mask speaks of; default: the largest certified for cosine 0.8.
        borders: draw the maps' cells as they are, with their borders, instead of smoothed for the eye.
    """
    style = _style(certificate, _array(image), borders=borders)
    panels = _panels(certificate, style, _array(plain), features or certificate.features)
    if attacked is not None:
        panels[-1:-1] = _attack_panels(attacked, style)
    if fraction is not None:
        size = certificate.max_epsilon(0.8) if epsilon is None else float(epsilon)
        marks = certificate.cells(fraction, size)
        panels.insert(
            -1,
            (
                "image",
                lambda axes: masks.draw(
                    axes, marks, None if image is None else channels_first(np.asarray(_array(image))), size
                ),
            ),
        )
    half = -(-len(panels) // 2)
    return _row_of([panels] if len(panels) <= _WIDEST else [panels[:half], panels[half:]])


def plot_rows(
    certificates: Sequence[Certificate],
    pictures: Sequence[Array | None],
    plains: Sequence[Array | None],
    title: str = "",
) -> Picture:
    """One row per certificate."""
    rows = [
        _panels(one, _style(one, _array(image)), _array(plain), one.features)
        for one, image, plain in zip(certificates, pictures, plains, strict=True)
    ]
    figure = _row_of(rows)
    if title:
        figure.suptitle(title, fontsize=11)
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, whole or not at all."""
    write_whole(path, png(figure))


def png(figure: Figure) -> bytes:
    """A figure as the content of a PNG file."""
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=110, format="png")
    return drawn.getvalue()


def _style(certificate: Certificate, image: FloatArray | None, *, borders: bool = False) -> _Style:
    """How the maps of a certificate are drawn; an ArgumentError for an image of another size than its input."""
    if image is not None and certificate.map is not None and images.is_picture(certificate.map):
        shown = channels_first(image)
        sizes = {count * math.prod(shown.shape[-2:]) for count in {1, 3, *shown.shape[:-2]}}
        if shown.ndim < 2 or not (certificate.record.dim in sizes or certificate.evidence.budget.changes):
            raise ArgumentError(
                f"expected `image` in the size of the certified input, which has {certificate.record.dim} numbers, got "
                f"shape {image.shape}"
            )
    return _Style(image, legend_of(certificate.record.attribution, certificate.record.maps), borders)


def _panels(
    certificate: Certificate, style: _Style, plain: FloatArray | None, features: Sequence[str] | None
) -> list[Panel]:
    """What there is to draw of one certificate."""
    found: list[Panel] = []
    image = style.image
    if image is not None and images.is_picture(channels_first(image)):
        found.append(("image", lambda axes: _draw_image(axes, image, f"input, explained as {certificate.target}")))
    for values, title in ((plain, "plain map"), (certificate.map, "smoothed map")):
        if values is None:
            continue
        if images.is_picture(values):
            found.append(("image", lambda axes, v=values, t=title: _draw_map(axes, v, t, style)))  # type: ignore[misc]
        elif title == "smoothed map":
            found.append(("bars", lambda axes, v=values: _draw_bars(axes, v, plain, features, style.legend)))  # type: ignore[misc]
    return [*found, ("curve", lambda axes: _draw_curve(axes, certificate))]


def _attack_panels(attacked: AttackResult, style: _Style) -> list[Panel]:
    """The map after an attack, the attacked input, and the change itself, amplified until its largest value shows."""
    change, image = np.asarray(_array(attacked.delta)), style.image
    if image is not None and image.size != change.size:
        raise ArgumentError(f"expected `image` to be the attacked input {change.shape}, got shape {image.shape}")
    after = None if image is None else channels_first(image) + change.reshape(channels_first(image).shape)
    values, gain = np.asarray(_array(attacked.map)), 0.5 / float(np.abs(change).max() or 1.0)
    panels: list[Panel] = []
    if images.is_picture(values):
        title = f"attacked map, cosine {attacked.cosine:.2f}"
        panels.append(("image", lambda axes: _draw_map(axes, values, title, replace(style, image=after))))
    if after is not None and images.is_picture(after):
        shown = f"change x {gain:.2g}, l2 size {attacked.length:.3g}"
        panels.append(("image", lambda axes: _draw_image(axes, np.clip(after, 0, 1), "attacked input")))
        panels.append(("image", lambda axes: _draw_image(axes, np.clip(0.5 + gain * change, 0, 1), shown)))
    return panels


def _row_of(rows: Sequence[Sequence[Panel]]) -> Picture:
    """Panels side by side; rows may differ in what they hold."""
    widths = [
        max((_WIDTHS[row[at][0]] for row in rows if at < len(row)), default=1.0) for at in range(max(map(len, rows)))
    ]
    figure = Picture(figsize=(2.2 * sum(widths) + 0.4, 2.35 * len(rows) + 0.5), layout="constrained")
    grid = figure.add_gridspec(len(rows), len(widths), width_ratios=widths)
    for number, row in enumerate(rows):
        for place, (_, draw) in enumerate(row):
            draw(figure.add_subplot(grid[number, place]))
    return figure


def _array(values: Array | None) -> FloatArray | None:
    """As float64, from wherever it is."""
    if values is None:
        return None
    tensor: Any = values
    return np.asarray(tensor.detach().cpu() if hasattr(tensor, "detach") else tensor, np.float64)


def channels_first(image: FloatArray) -> FloatArray:
    """(H, W, 3) becomes (3, H, W); everything else stays."""
    last = image.ndim == 3 and image.shape[-1] in (3, 4) and image.shape[0] not in (1, 3)
    return np.moveaxis(image[..., :3], -1, 0) if last else image


def _draw_image(axes: Axes, image: FloatArray, title: str) -> None:
    axes.imshow(images.stretched(channels_first(image)), cmap="gray", vmin=0, vmax=1)
    _finish(axes, title)


def _draw_map(axes: Axes, values: FloatArray, title: str, style: _Style) -> None:
    """A map by itself, or over its image at the image's resolution if it is coarser."""
    picture = images.plane(values)
    span = float(np.quantile(np.abs(picture), images.QUANTILE)) or 1.0
    shown = None if style.image is None else images.stretched(channels_first(style.image))
    if shown is None or shown.ndim < 2 or shown.shape[:2] == picture.shape:
        axes.imshow(picture, cmap=MAP_COLOURS, vmin=-span, vmax=span)
    else:
        axes.imshow(shown, cmap="gray", vmin=0, vmax=1)
        strength = np.clip(np.abs(picture) / span, 0, 1)
        axes.imshow(
            picture,
            cmap=MAP_COLOURS,
            norm=Normalize(-span, span),
            alpha=0.85 * strength,
            extent=axes.images[0].get_extent(),
            interpolation="nearest" if style.borders else "bilinear",
        )
    if style.borders:
        _draw_borders(axes, picture.shape)
    if style.legend is not None:
        axes.set_xlabel(f"blue: {style.legend.low}\nred: {style.legend.high}", fontsize=6)
    _finish(axes, title)


def _draw_borders(axes: Axes, cells: tuple[int, ...]) -> None:
    """Lines between the cells of a map that fills the axes."""
    left, right, bottom, top = axes.images[0].get_extent()
    rows, columns = np.linspace(top, bottom, cells[0] + 1)[1:-1], np.linspace(left, right, cells[1] + 1)[1:-1]
    axes.hlines(rows, left, right, colors=_BORDER, linewidth=0.5)
    axes.vlines(columns, top, bottom, colors=_BORDER, linewidth=0.5)


def _draw_bars(
    axes: Axes,
    values: FloatArray,
    plain: FloatArray | None,
    features: Sequence[str] | None,
    meaning: Legend | None,
) -> None:
    """The largest values of a map that is a row of numbers."""
    flat = np.ravel(values)
    chosen = np.argsort(-np.abs(flat), kind="stable")[:_BARS][::-1]
    fits = features is not None and len(features) == flat.size
    names = [str(features[at]) if fits and features is not None else str(at) for at in chosen]
    places = np.arange(len(chosen))
    axes.barh(places, flat[chosen] / (np.linalg.norm(flat) or 1.0), height=0.6, color=OURS, label="smoothed")
    if plain is not None and plain.size == flat.size:
        other = np.ravel(plain)
        axes.plot(other[chosen] / (np.linalg.norm(other) or 1.0), places, "|", color="#333333", ms=9, label="plain")
    axes.axvline(0, color="#777777", lw=0.8)
    axes.set_yticks(places, names)
    axes.tick_params(labelsize=7)
    axes.set_title(
        "smoothed map" if flat.size <= _BARS else f"smoothed map, {_BARS} largest of {flat.size}", fontsize=9
    )
    if meaning is not None:
        axes.set_xlabel(f"left: {meaning.low}, right: {meaning.high}", fontsize=7)
    axes.legend(fontsize=6)


def _finish(axes: Axes, title: str) -> None:
    axes.set_title(title, fontsize=9)
    axes.set_xticks([])
    axes.set_yticks([])


def _draw_curve(axes: Axes, certificate: Certificate) -> None:
    """Certified cosine over epsilon, with the paper's invalid curve dashed."""
    end = max(certificate.max_epsilon(0.0) * 1.25, 1e-6 * certificate.law.value)
    epsilons = np.linspace(0, end, 81)
    certified = certificate.evidence.cosine(epsilons)
    paper = np.array([certificate.cosine_paper(epsilon) for epsilon in epsilons])
    name = "assumed limit: NOT certified" if certificate.assumed else "certified"
    shown = certified >= 0
    axes.plot(epsilons[shown], certified[shown], color=OURS, label=name)
    axes.fill_between(epsilons[shown], 0, certified[shown], color=OURS, alpha=0.12)
    below = bool((certified > paper + 1e-6).any())
    why = "\nit ignores the draws' spread, so ours can be above it" if below else ""
    axes.plot(epsilons, paper, color=PAPER, ls="--", lw=1, label=f"paper's formula (not a guarantee){why}")
    axes.set_ylim(0, 1.02)
    axes.set_xlim(0, end)
    axes.set_title(f"epsilon {round_down(certificate.max_epsilon(0.8), 3)} at cosine 0.8", fontsize=9)
    axes.set_xlabel(f"epsilon (the change's {certificate.evidence.budget.measure})", fontsize=8)
    axes.set_ylabel("cosine at least", fontsize=8)
    axes.tick_params(labelsize=8)
    axes.legend(fontsize=6, loc="lower left")


def draw_explained(places: Sequence[Axes], image: Array, plain: Array) -> None:
    """An input and, over it, its plain map, each in a place of its own."""
    shown, values = np.asarray(_array(image)), np.asarray(_array(plain))
    _draw_image(places[0], shown, "input")
    _draw_map(places[1], values, "its explanation", _Style(shown))


def plot_gaps(panels: dict[str, tuple[list[float], list[float]]]) -> Picture:
    """Sorted gaps between what attacks found and two bounds, one panel each: (sound, paper's)."""
    figure = Picture(figsize=(3.4 * len(panels), 3), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)
    for place, (title, (sound, paper)) in zip(axes[0], panels.items(), strict=True):
        place.plot(sound, color=OURS, label="above the certified cosine")
        place.plot(paper, color=PAPER, ls="--", label="above the paper's T (not a guarantee)")
        place.axhline(0, color="#777777", lw=0.8)
        place.set_title(title, fontsize=9)
        place.set_xlabel("images, sorted", fontsize=8)
        place.tick_params(labelsize=8)
    axes[0, 0].set_ylabel("cosine found by attacks, minus bound", fontsize=8)
    axes[0, 0].legend(fontsize=7)
    return figure


def plot_maps(rows: Sequence[dict[str, Any]]) -> Picture:
    """Rows of an input and its maps, all with the diverging scale."""
    names = list(rows[0]["maps"])
    figure = Picture(figsize=(2 * (1 + len(names)), 2.15 * len(rows)), layout="constrained")
    axes = figure.subplots(len(rows), 1 + len(names), squeeze=False)
    for places, row in zip(axes, rows, strict=True):
        _draw_image(places[0], np.asarray(row["input"], np.float64), f"explained as {row['target']}")
        for place, name in zip(places[1:], names, strict=True):
            _draw_map(place, row["maps"][name], name, _Style())
    return figure
