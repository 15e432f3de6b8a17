"""Arrays as small pictures inside a page. Maps: red is positive, blue negative, white zero."""

import base64
import io
import math
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
from PIL import Image

from attribound.checks import FloatArray

QUANTILE = 0.995
"""Maps are clipped at this quantile of their absolute values: one bright pixel may not dim all others."""
STOPS = ("#053061", "#2166ac", "#4393c3", "#92c5de", "#f7f7f7", "#f4a582", "#d6604d", "#b2182b", "#67001f")
"""ColorBrewer's RdBu: diverging, neutral at zero, readable without red-green vision."""
_LARGEST, _SMALLEST = 512, 24
_LOSSLESS = 32
_CELL = 4
"""Characters that a cell of a transparent map takes, about."""
_VEIL = 0.85
"""How much of a photo its strongest cell covers."""
Bytes = npt.NDArray[np.uint8]


def _lookup() -> Bytes:
    """(256, 3) colours between the stops."""
    stops = np.array([[int(stop[at : at + 2], 16) for at in (1, 3, 5)] for stop in STOPS], float)
    places = np.linspace(0, len(stops) - 1, 256)
    channels = [np.interp(places, range(len(stops)), stops[:, channel]) for channel in range(3)]
    return np.stack(channels, axis=1).round().astype(np.uint8)


_COLOURS = _lookup()


def is_picture(values: FloatArray) -> bool:
    """(H, W) or (C, H, W) with one or three channels or more; features in a row are none."""
    return values.ndim in (2, 3) and min(values.shape[-2:]) > 1


def plane(values: FloatArray) -> FloatArray:
    """(H, W): colour channels are summed."""
    return values.sum(axis=0) if values.ndim == 3 else values


def draw_input(values: FloatArray, budget: int) -> str:
    """An input as a data URI of at most about `budget` bytes; values outside [0, 1] are stretched into it."""
    return _smallest(stretched(values), budget, lambda shown: (np.clip(shown, 0, 1) * 255).round().astype(np.uint8))


def stretched(values: FloatArray) -> FloatArray:
    """(H, W) or (H, W, 3) with values in [0, 1]."""
    values = np.nan_to_num(values)
    low, high = float(values.min()), float(values.max())
    if low < 0 or high > 1:
        values = (values - low) / max(high - low, 1e-12)
    if values.ndim == 3:
        values = np.moveaxis(values, 0, -1) if len(values) == 3 else values.mean(axis=0)
    return values


def draw_change(values: FloatArray, budget: int) -> tuple[str, float]:
    """A change of an input, amplified until its largest value shows fully, and the factor."""
    values = np.nan_to_num(values)
    factor = 0.5 / (float(np.abs(values).max()) or 1.0)
    shown = 0.5 + factor * values
    return draw_input(shown, budget), factor


def draw_maps(maps: Mapping[str, FloatArray], budget: int, *, over: bool = False) -> dict[str, str]:
    """Maps of one input, on one scale, as data URIs.

    A cosine does not see lengths, so each map is first divided by its own; then all share the clip.

    Args:
        maps: by name, (H, W) or (C, H, W).
        budget: characters for each.
        over: they are to be laid over the input: weak cells are transparent, and only fine maps are shrunk.
    """
    flat = {name: _unit(plane(values)) for name, values in maps.items()}
    if not flat:
        return {}
    span = float(np.quantile(np.abs(np.concatenate([value.ravel() for value in flat.values()])), QUANTILE)) or 1.0

    def colour(shown: FloatArray) -> Bytes:
        clipped = np.clip(shown / span, -1, 1)
        found = np.asarray(_COLOURS[((clipped + 1) * 127.5).round().astype(int)])
        veil = (255 * _VEIL * np.abs(clipped)).round().astype(np.uint8)
        return np.concatenate([found, veil[..., None]], axis=-1) if over else found

    if over:
        side = min(4 * _LOSSLESS, max(int(math.sqrt(budget / _CELL)), _SMALLEST))
        return {name: _encode(colour(shrunk(value, side)), lossless=True) for name, value in flat.items()}
    return {name: _smallest(value, budget, colour) for name, value in flat.items()}


def cosine(first: FloatArray, second: FloatArray) -> float:
    """Cosine of the angle between two maps as they were sampled; 0.0 if one of them is zero."""
    return float(np.sum(_unit(first) * _unit(second)))


def _unit(values: FloatArray) -> FloatArray:
    values = np.nan_to_num(values)
    return values / (float(np.linalg.norm(values)) or 1.0)


def _smallest(values: FloatArray, budget: int, paint: Callable[[FloatArray], Bytes]) -> str:
    """A picture as large as the budget allows. Values are averaged before they are coloured."""
    side = min(max(values.shape[:2]), _LARGEST)
    uri = _encode(paint(shrunk(values, side)))
    while len(uri) > budget and side > _SMALLEST:
        side = max(int(0.97 * side * math.sqrt(budget / len(uri))), _SMALLEST)
        uri = _encode(paint(shrunk(values, side)))
    return uri


def shrunk(values: FloatArray, side: int) -> FloatArray:
    """Average over boxes so that the longer side is at most `side`; an input that is small enough stays as it is."""
    height, width = values.shape[:2]
    factor = max(height, width) / side
    if factor <= 1:
        return values
    size = (max(round(width / factor), 1), max(round(height / factor), 1))
    channels = values[..., None] if values.ndim == 2 else values
    parts = [
        np.asarray(Image.fromarray(channels[..., at].astype(np.float32)).resize(size, Image.Resampling.BOX), float)
        for at in range(channels.shape[-1])
    ]
    return parts[0] if values.ndim == 2 else np.stack(parts, axis=-1)


def _encode(pixels: Bytes, *, lossless: bool = False) -> str:
    """A data URI: lossless for small pictures, JPEG without colour subsampling for larger ones."""
    file, picture = io.BytesIO(), Image.fromarray(pixels)
    if lossless or max(picture.size) <= _LOSSLESS:
        picture.save(file, "PNG", optimize=True)
        kind = "png"
    else:
        picture.save(file, "JPEG", quality=85, subsampling=0)
        kind = "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(file.getvalue()).decode()}"
