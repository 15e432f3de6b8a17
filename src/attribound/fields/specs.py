"""What people type after `--attribution`, `--map` and `--bound`, and the fields that follow."""

from collections.abc import Callable, Sequence

from attribound.errors import ArgumentError
from attribound.fields.base import Field, Model, Output
from attribound.fields.bounded import Assumed, Bounded, Clip, Proved, Unit
from attribound.fields.cam import CAM, GradCAM, GradCAMPlusPlus, HiResCAM, LayerCAM
from attribound.fields.integrated import IntegratedGradients
from attribound.fields.reshaped import Absolute, Centred, Pooled, Scaled, Tokens
from attribound.fields.saliency import Saliency
from attribound.suggest import closest, did_you_mean

_METHODS: dict[str, Callable[[Model, Output], Field]] = {
    "saliency": lambda model, output: Saliency(model, output),
    "ig": lambda model, output: IntegratedGradients(model, output=output),
    "ig-random": lambda model, output: IntegratedGradients(model, path="random", output=output),
}
"""Our methods by the name that people type; a new one adds a file and a line here."""

_CAMS: dict[str, type[CAM]] = {kind.method: kind for kind in (GradCAM, HiResCAM, LayerCAM, GradCAMPlusPlus)}
"""Methods that take a layer and a grid of its tokens: NAME[-signed][:LAYER[@HxW]]."""

_CAPTUM = ("input-x-gradient", "guided-backprop", "deconvolution", "deeplift", "feature-ablation")
ATTRIBUTIONS = (*_METHODS, *(f"{name}[:LAYER]" for name in _CAMS), *_CAPTUM)

_MAPS: dict[str, Callable[[Field, str], Field]] = {
    "raw": lambda field, _: field,
    "centred": lambda field, _: Centred(field),
    "pooled": lambda field, size: Pooled(field, _number("pooled:N", size)),
    "pooled-signed": lambda field, size: Pooled(field, _number("pooled-signed:N", size), of="signed"),
    "tokens": lambda field, _: Tokens(field),
    "tokens-signed": lambda field, _: Tokens(field, of="signed"),
    "abs": lambda field, _: Absolute(field),
}
"""Shapes of maps by the name that people type."""
MAPS = ("raw", "centred", "pooled:N", "pooled-signed:N", "tokens", "tokens-signed", "abs", "scaled")

_BOUNDS: dict[str, Callable[[Field, float], Bounded]] = {
    "clip": Clip,
    "proved": lambda field, limit: Proved(field, limit, reason="stated on the command line"),
    "assumed": Assumed,
}
BOUNDS = ("unit", *(f"{name}:L" for name in _BOUNDS))


def make_field(
    model: Model,
    attribution: str = "saliency",
    bound: str = "unit",
    output: Output = "logit",
    maps: Sequence[str] | None = None,
    units: Sequence[float] | None = None,
) -> Bounded:
    """The bounded field of the specs that people type.

    Args:
        model: the classifier.
        attribution: one of ATTRIBUTIONS.
        bound: "unit", "clip:L", "proved:L" or "assumed:L" with a number L.
        output: "logit" or "probability".
        maps: shapes, applied in this order to the method's own map; None: centred for class activation maps, else as
            the method gives it.
        units: of the features, where the data have learnt them: the map "scaled" counts in them.
    """
    field = _attribution(model, attribution, output)
    for spec in default_maps(attribution) if maps is None else maps:
        field = _mapped(field, spec, units)
    return _bounded(field, bound)


def _mapped(field: Field, spec: str, units: Sequence[float] | None) -> Field:
    """The field with one more shape of its map."""
    name, _, size = spec.partition(":")
    if spec == "scaled":
        if units is None:
            raise ArgumentError("--map scaled needs data with units: csv:FILE?scale=FILE or parquet:FILE?scale=FILE")
        return Scaled(field, units)
    if name not in _MAPS or (size and f"{name}:N" not in MAPS):
        raise ArgumentError(f"expected a map ({', '.join(MAPS)}), got {spec!r}")
    return _MAPS[name](field, size)


def default_maps(attribution: str) -> tuple[str, ...]:
    """The shapes of a method's maps if nobody asks for others."""
    return ("centred",) if _method(attribution) in _CAMS else ()


def _attribution(model: Model, name: str, output: Output) -> Field:
    if name in _METHODS:
        return _METHODS[name](model, output)
    if _method(name) in _CAMS:
        return _activation_map(model, name, output)
    if name not in _CAPTUM:
        meant = did_you_mean(closest(_method(name), (*_METHODS, *_CAMS, *_CAPTUM)))
        raise ArgumentError(f"expected an attribution ({', '.join(ATTRIBUTIONS)}), got {name!r}{meant}")
    if output != "logit":
        raise ArgumentError(f"{name} explains the logit, not the {output}")
    from attribound.fields.captum import named  # captum takes seconds to import: only where it is used

    return named(name, model)


def _activation_map(model: Model, name: str, output: Output) -> CAM:
    """The method of NAME[-signed][:LAYER[@HxW]]; centring is left to the maps."""
    layer, _, size = name.partition(":")[2].partition("@")
    height, _, width = size.partition("x")
    grid = (_number("@HxW", height), _number("@HxW", width)) if size else None
    signed = name.partition(":")[0].endswith("-signed")
    return _CAMS[_method(name)](model, layer or None, output, centred=False, relu=not signed, grid=grid)


def _method(name: str) -> str:
    return name.partition(":")[0].removesuffix("-signed")


def _bounded(field: Field, bound: str) -> Bounded:
    if bound == "unit":
        return Unit(field)
    kind, _, number = bound.partition(":")
    try:
        return _BOUNDS[kind](field, float(number))
    except (KeyError, ValueError) as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(f"expected a bound ({', '.join(BOUNDS)}, L a number), got {bound!r}") from None


def _number(form: str, text: str) -> int:
    if not text.isdecimal():
        raise ArgumentError(f"expected {form} with a whole number N, got {text!r}")
    return int(text)
