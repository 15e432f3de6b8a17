"""Typos are answered before torch is loaded: a word that is close to a known one is refused with it.

Words that are not close to any pass, for the package may have been extended; the registries check them later.
"""

from collections.abc import Sequence
from pathlib import Path

from attribound.bounds.laws import split_spec
from attribound.cli.choices import ATTRIBUTIONS, DATA, MAPS, MODELS
from attribound.errors import ArgumentError
from attribound.suggest import closest, closest_data, did_you_mean, is_picture


def check_words(
    *,
    attribution: str = "",
    maps: Sequence[str] = (),
    data: Sequence[str | None] = (),
    noise: str | None = None,
    model: str | None = None,
) -> None:
    """Raise ArgumentError for the first word that is a known one mistyped.

    Args:
        attribution: what was typed after --attribution.
        maps: after --map.
        data: after --data and --test-data.
        noise: after --noise.
        model: after --model.
    """
    if noise is not None:
        split_spec(noise)
    method, colon, _ = attribution.partition(":")
    if not (colon and Path(f"{method.partition('.')[0]}.py").exists()):  # a module of the user's own
        _check("--attribution", attribution, method.removesuffix("-signed"), ATTRIBUTIONS)
    for spec in maps:
        _check("--map", spec, spec.partition(":")[0], MAPS)
    for place in filter(None, data):
        kind = place.partition(":")[0].partition("?")[0]
        if not is_picture(place) and kind not in DATA and (meant := closest_data(place, DATA)):
            raise ArgumentError(f"expected --data KIND:PLACE, got {place!r}{did_you_mean(meant)}")
    if model and ":" not in model and not Path(model).suffix and not Path(model).exists():
        _check("--model", model, model, MODELS)


def _check(option: str, typed: str, word: str, known: Sequence[str]) -> None:
    if word and word not in known and (meant := closest(word, known)):
        raise ArgumentError(f"expected {option} one of {', '.join(known)}, got {typed!r}{did_you_mean(meant)}")
