"""Interactive charts of the page. The only file that imports plotly; figures leave it as plain JSON values.

Colours keep a contrast of 3:1 on the page's light and dark grounds and are told apart without red-green vision;
lines differ in their dashes too. Fonts, grids and grounds follow the page's scheme and are set there.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from plotly import graph_objects
from plotly.offline import get_plotlyjs

from attribound.checks import FloatArray

_COLOURS = ("#8a6d00", "#2b7bba", "#c8553d", "#a0569b", "#5a7d2a", "#7a7a7a")
_DASHES = ("dot", "dash", "dashdot", "longdash", "longdashdot", "dot")
_CHOSEN, _BROKEN = "#1a7f64", "#c8553d"
_POINTS = 241


def library() -> str:
    """The source of plotly.js, to be put into the page."""
    return str(get_plotlyjs())


def fractions(cosines: Sequence[float], epsilons: FloatArray, top: float) -> dict[str, Any]:
    """Share of all inputs certified against epsilon, one line per cosine; the first one is the reader's choice.

    A line steps down before each known point, so that nothing between two points is overstated.

    Args:
        cosines: (C,) cosines to draw.
        epsilons: (N, C) largest epsilon proved by each record for each of them.
        top: end of the axis.
    """
    figure = _figure("epsilon: l2 size of the change", "share of all inputs")
    grid = np.linspace(0.0, top, _POINTS)
    figure.add_scatter(x=[], y=[], name="chosen", line={"color": _CHOSEN, "width": 3.5}, mode="lines")
    for number, cosine in enumerate(cosines):
        style = {"color": _COLOURS[number % 6], "dash": _DASHES[number % 6], "width": 1.8, "shape": "vh"}
        shares = _shares(epsilons[:, number], grid)
        name = f"cosine {cosine:g}"
        figure.add_scatter(x=grid.tolist(), y=shares, name=name, line=style, mode="lines", hovertemplate=_hover(name))
    figure.update_yaxes(range=[0, 1.03], tickformat=".0%")
    figure.update_xaxes(range=[0, top])
    return _plain(figure)


def band(proved: Sequence[float], broken: Sequence[float | None], cosine: float) -> dict[str, Any]:
    """Proved and broken among the attacked inputs; between the two curves nobody knows.

    Args:
        proved: the epsilon proved for each attacked input.
        broken: the smallest epsilon at which an attack reached the cosine; None if none did.
        cosine: which cosine was attacked.
    """
    figure = _figure("epsilon: l2 size of the change", "share of attacked inputs")
    top = 1.08 * max([*proved, *(one for one in broken if one is not None), 1e-9])
    grid = np.linspace(0.0, top, _POINTS)
    standing = _shares(np.array([np.inf if one is None else one for one in broken]), grid)
    style = {"color": _BROKEN, "dash": "dash", "width": 2.2, "shape": "vh"}
    lower = {"color": _CHOSEN, "width": 3, "shape": "vh"}
    x = grid.tolist()
    figure.add_scatter(x=x, y=standing, name="not broken by any attack", line=style, hovertemplate=_hover("not broken"))
    figure.add_scatter(
        x=x,
        y=_shares(np.array(proved), grid),
        name=f"proved at cosine {cosine:g}",
        line=lower,
        fill="tonexty",
        fillcolor="rgba(128,128,128,0.22)",
        hovertemplate=_hover("proved"),
    )
    figure.update_yaxes(range=[0, 1.03], tickformat=".0%")
    figure.update_xaxes(range=[0, top])
    return _plain(figure)


def noise_levels(scan: Mapping[str, Any]) -> dict[str, Any]:
    """What each noise level costs in accuracy and gives in certified epsilon."""
    figure = _figure(f"median certified epsilon at cosine {scan['cosine']:g}", "accuracy under noise")
    found = [level["median_max_epsilon"] for level in scan["levels"]]
    figure.add_scatter(
        x=found,
        y=[level["accuracy_noisy"] for level in scan["levels"]],
        text=[f"sigma {level['sigma']:g}" for level in scan["levels"]],
        mode="lines+markers+text",
        textposition="bottom center",
        name="noise levels",
        cliponaxis=False,
        line={"color": _COLOURS[1], "width": 2},
        marker={"size": 9},
        hovertemplate="%{text}: epsilon %{x:.3f}, accuracy %{y:.1%}<extra></extra>",
    )
    end = 1.15 * max([*found, 1e-9])
    figure.add_scatter(
        x=[0, end],
        y=[scan["accuracy"]] * 2,
        mode="lines",
        name="accuracy without noise",
        line={"color": _COLOURS[5], "dash": "dot", "width": 1.6},
        hoverinfo="skip",
    )
    figure.update_yaxes(range=[0, 1.12], tickformat=".0%")
    figure.update_xaxes(range=[0, end])
    return _plain(figure)


def _figure(x: str, y: str) -> graph_objects.Figure:
    layout = {
        "template": "none",
        "margin": {"l": 58, "r": 14, "t": 14, "b": 48},
        "height": 340,
        "legend": {"orientation": "h", "y": 1.03, "yanchor": "bottom", "x": 0},
        "xaxis": {"title": {"text": x, "standoff": 8}, "zeroline": False, "automargin": True},
        "yaxis": {"title": {"text": y, "standoff": 10}, "zeroline": False, "automargin": True},
        "hovermode": "closest",
        "dragmode": False,
    }
    return graph_objects.Figure(layout=layout)


def _shares(values: FloatArray, grid: FloatArray) -> list[float]:
    """Share of the values at or above each point of the grid, all of them at zero being left out of nothing."""
    ordered = np.sort(values)
    above = len(ordered) - np.searchsorted(ordered, np.maximum(grid, 1e-300), side="left")
    return [round(float(share), 6) for share in above / max(len(ordered), 1)]


def _hover(name: str) -> str:
    return f"{name}: %{{y:.1%}} at epsilon %{{x:.3f}}<extra></extra>"


def _plain(figure: graph_objects.Figure) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(figure.to_json())
    return found
