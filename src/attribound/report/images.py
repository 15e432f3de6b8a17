"""Arrays as small pictures inside a page. Maps: red speaks for the class, blue against it, white is zero."""

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
_LARGEST, _SMALLEST = 128, 24
_LOSSLESS = 32
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


def draw_input(values: FloatArray, budget: int) -> str:
    """An input as a data URI of at most about `budget` bytes; values outside [0, 1] are stretched into it."""
    values = np.nan_to_num(values)
    low, high = float(values.min()), float(values.max())
    if low < 0 or high > 1:
        values = (values - low) / max(high - low, 1e-12)
    if values.ndim == 3:
        values = np.moveaxis(values, 0, -1) if len(values) == 3 else values.mean(axis=0)
    return _smallest(values, budget, lambda shown: (np.clip(shown, 0, 1) * 255).round().astype(np.uint8))


def draw_maps(maps: Mapping[str, FloatArray], budget: int) -> dict[str, str]:
    """Maps of one input, on one scale, as data URIs.

    A cosine does not see lengths, so each map is first divided by its own; then all share the clip.
    """
    flat = {name: _unit(values.sum(axis=0) if values.ndim == 3 else values) for name, values in maps.items()}
    if not flat:
        return {}
    span = float(np.quantile(np.abs(np.stack([value.ravel() for value in flat.values()])), QUANTILE)) or 1.0

    def colour(shown: FloatArray) -> Bytes:
        return np.asarray(_COLOURS[((np.clip(shown / span, -1, 1) + 1) * 127.5).round().astype(int)])

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
    uri = _encode(paint(_shrink(values, side)))
    while len(uri) > budget and side > _SMALLEST:
        side = max(int(0.97 * side * math.sqrt(budget / len(uri))), _SMALLEST)
        uri = _encode(paint(_shrink(values, side)))
    return uri


def _shrink(values: FloatArray, side: int) -> FloatArray:
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


def _encode(pixels: Bytes) -> str:
    """A data URI: lossless for small pictures, JPEG without colour subsampling for larger ones."""
    file, picture = io.BytesIO(), Image.fromarray(pixels)
    if max(picture.size) <= _LOSSLESS:
        picture.save(file, "PNG", optimize=True)
        kind = "png"
    else:
        picture.save(file, "JPEG", quality=85, subsampling=0)
        kind = "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(file.getvalue()).decode()}"
