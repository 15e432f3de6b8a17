"""Makes film strips: computes a few changed inputs and their maps once more, for people to look at."""

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import interpolate

from attribound.changes.base import Continuous, Finite
from attribound.changes.pictures import check_picture
from attribound.checks import FloatArray
from attribound.errors import ArgumentError
from attribound.randomness import Purpose, stream
from attribound.sampling.along import Along
from attribound.sampling.listed import cosines_with
from attribound.tolerances.answer import Tolerance
from attribound.tolerances.evidence import Listed
from attribound.tolerances.strip import FRAMES, INPUT_SIDE, MAP_SIDE, Strip

_DRAWS = 16
"""Maps of which a window's mean is made."""


def film(along: Along, known: Tolerance, *, plain: Tensor, window: float | None) -> Strip | None:
    """The strip of a change that was asked about; None where input or map is no picture.

    Args:
        along: the family of maps.
        known: what is known about the change.
        plain: the plain map.
        window: half-width of the windows, in the change's parameter; None if every alternative was tried.
    """
    shape = known.shown.shape
    if len(shape) not in (2, 3) or min(shape[-2:]) < 2:
        return None
    try:
        check_picture(along.x, "a film strip")
    except ArgumentError:
        return None
    return _listed(along, known, plain) if window is None else _scanned(along, known, window)


def _scanned(along: Along, known: Tolerance, window: float) -> Strip:
    """Frames at evenly spaced parameters; maps are means over windows, classes those of the frames themselves."""
    change = along.change
    assert isinstance(change, Continuous)
    t = torch.from_numpy(_spaced(change.low, change.high))
    inside = window * ((2 * torch.arange(_DRAWS, dtype=torch.float64) + 1) / _DRAWS - 1)
    rows = torch.cat([t[:, None], t[:, None] + inside], dim=1)
    rows = rows.abs() if change.mirrored else rows
    seen = along.look(rows.flatten(), stream(Purpose.FIGURE, known.record.seed, known.record.item))
    maps = seen.maps.view(len(t), 1 + _DRAWS, -1)[:, 1:].mean(dim=1)
    return Strip(
        values=np.array([change.shown(float(one)) for one in t]),
        classes=seen.classes.view(len(t), -1)[:, 0].double().numpy(),
        cosines=cosines_with(maps.numpy(), known.shown.flatten().double().numpy()),
        inputs=_small_inputs(along.inputs(t)),
        maps=_small_maps(maps.view(-1, *known.shown.shape)),
    )


def _spaced(low: float, high: float) -> FloatArray:
    """Evenly spaced on each side of 0."""
    half = FRAMES // 2
    if low == 0 or high == 0:
        return np.linspace(low, high, FRAMES)
    return np.concatenate([np.linspace(low, 0, half + 1)[:-1], np.linspace(0, high, half + 1)])


def _listed(along: Along, known: Tolerance, plain: Tensor) -> Strip:
    """Frames among the alternatives, and the input itself between them; of several at one place, the worst."""
    change, evidence = along.change, known.record.evidence()
    assert isinstance(change, Finite)
    assert isinstance(evidence, Listed)
    left, right = ([_worst(evidence, place) for place in side] for side in _chosen(evidence.places))
    rows = np.array([*left, *right])
    t = change.alternatives(along.x)[torch.from_numpy(rows)]
    seen = along.look(t, stream(Purpose.FIGURE, 0))
    middle = len(left)

    return Strip(
        values=np.insert(evidence.values[rows], middle, evidence.zero),
        classes=np.insert(seen.classes.double().numpy(), middle, known.record.prediction),
        cosines=np.insert(evidence.cosines[rows], middle, 1.0),
        inputs=_small_inputs(_between(along.inputs(t), along.x, middle)),
        maps=_small_maps(_between(seen.maps.view(-1, *plain.shape), plain, middle)),
    )


def _between(rows: Tensor, own: Tensor, place: int) -> Tensor:
    return torch.cat([rows[:place], own.to(rows)[None], rows[place:]])


def _chosen(places: FloatArray) -> tuple[list[float], list[float]]:
    """Evenly spaced places to the left and to the right of no change, the outermost ones among them."""
    sides = np.unique(places[places < 0]), np.unique(places[places > 0])
    most = FRAMES // 2 if all(map(len, sides)) else FRAMES - 1

    def some(outward: FloatArray) -> list[float]:
        count = min(len(outward), most)
        return [float(outward[round(len(outward) * (k + 1) / count) - 1]) for k in range(count)]

    return some(sides[0][::-1])[::-1], some(sides[1])


def _worst(evidence: Listed, place: float) -> int:
    return int(np.where(evidence.places == place, evidence.cosines, np.inf).argmin())


def _small_inputs(inputs: Tensor) -> FloatArray:
    small: FloatArray = (255 * _shrunk(inputs, INPUT_SIDE).clamp(0, 1)).round().numpy()
    return small


def _small_maps(maps: Tensor) -> FloatArray:
    """Colour channels are summed, as everywhere where maps are drawn."""
    planes = maps[:, None] if maps.ndim == 3 else maps.sum(dim=1, keepdim=True)
    small: FloatArray = _shrunk(planes, MAP_SIDE)[:, 0].numpy()
    return small


def _shrunk(pictures: Tensor, side: int) -> Tensor:
    """Averaged until the longer side is at most `side`."""
    values = pictures.detach().cpu().double()
    height, width = values.shape[-2:]
    factor = max(height, width) / side
    size = (max(round(height / factor), 1), max(round(width / factor), 1))
    return values if factor <= 1 else interpolate(values, size, mode="area")
