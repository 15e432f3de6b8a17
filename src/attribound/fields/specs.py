"""What people type after `--attribution`, `--map` and `--bound`, and the fields that follow."""

import inspect
from collections.abc import Callable, Sequence

from attribound.errors import ArgumentError
from attribound.fields.base import Field, Model, Output
from attribound.fields.bounded import Assumed, Bounded, Clip, Proved, Unit
from attribound.fields.cam import CAM, GradCAM, GradCAMPlusPlus, HiResCAM, LayerCAM
from attribound.fields.forest import of_model
from attribound.fields.integrated import IntegratedGradients
from attribound.fields.relative import Relative, unpacked
from attribound.fields.reshaped import Absolute, Centred, Pooled, Scaled, Tokens
from attribound.fields.saliency import Saliency
from attribound.models.own import load_own
from attribound.plugins import Registry
from attribound.suggest import closest, did_you_mean

Maker = Callable[[Model, Output], Field]
"""From a model and what is explained to the field."""

_METHODS: dict[str, Maker] = {
    "saliency": lambda model, output: Saliency(model, output),
    "ig": lambda model, output: IntegratedGradients(model, output=output),
    "ig-random": lambda model, output: IntegratedGradients(model, path="random", output=output),
    "treeshap": lambda model, output: of_model(model),
}
FIELDS: Registry[Maker] = Registry("field", _METHODS)
"""Methods by the name that people type; a new one adds a file and a line here, or `register_field` from outside."""

_CAMS: dict[str, type[CAM]] = {kind.method: kind for kind in (GradCAM, HiResCAM, LayerCAM, GradCAMPlusPlus)}
"""Methods that take a layer and a grid of its tokens: NAME[-signed][:LAYER[@HxW]]."""

_SAMPLED = ("shapley-sampling", "kernel-shap", "lime")
_CAPTUM = ("input-x-gradient", "guided-backprop", "deconvolution", "deeplift", "feature-ablation", *_SAMPLED)
ATTRIBUTIONS = (*_METHODS, *(f"{name}[:LAYER]" for name in _CAMS), *_CAPTUM)

_SHIPPED_MAPS: dict[str, Callable[[Field, str], Field]] = {
    "raw": lambda field, _: field,
    "centred": lambda field, _: Centred(field),
    "pooled": lambda field, size: Pooled(field, _number("pooled:N", size)),
    "pooled-signed": lambda field, size: Pooled(field, _number("pooled-signed:N", size), of="signed"),
    "tokens": lambda field, _: Tokens(field),
    "tokens-signed": lambda field, _: Tokens(field, of="signed"),
    "abs": lambda field, _: Absolute(field),
}
_MAPS: Registry[Callable[[Field, str], Field]] = Registry("map", _SHIPPED_MAPS)
"""Shapes of maps by the name that people type."""
_SIZED = {"pooled", "pooled-signed"}
"""Maps with a number: NAME:N."""
MAPS = ("raw", "centred", "pooled:N", "pooled-signed:N", "tokens", "tokens-signed", "abs", "scaled", "relative:DATA")

_BOUNDS: dict[str, Callable[[Field, float], Bounded]] = {
    "clip": Clip,
    "proved": lambda field, limit: Proved(field, limit, reason="stated on the command line"),
    "assumed": Assumed,
}
BOUNDS = ("unit", *(f"{name}:L" for name in _BOUNDS))


def register_field(name: str, make: Maker) -> Maker:
    """Make a method of another package known by the name that people type after `--attribution`.

    Args:
        name: of the method.
        make: from a model and what is explained ("logit" or "probability") to the field.
    """
    return FIELDS.register(name, make)


def register_map(name: str, make: Callable[[Field, str], Field], *, sized: bool = False) -> None:
    """Make a shape of maps of another package known by the name that people type after `--map`.

    Args:
        name: of the shape.
        make: from a field and the text after the colon to the reshaped field.
        sized: whether a number follows, NAME:N.
    """
    _MAPS.register(name, make)
    if sized:
        _SIZED.add(name)


def make_field(
    model: Model,
    attribution: str = "saliency",
    bound: str = "unit",
    output: Output = "logit",
    maps: Sequence[str] | None = None,
    units: Sequence[float] | None = None,
    reference: str | None = None,
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
        reference: of the map "relative", as records hold it.
    """
    field = _attribution(model, attribution, output)
    for spec in default_maps(attribution) if maps is None else maps:
        field = _mapped(field, spec, units, reference)
    return _bounded(field, bound)


def _mapped(field: Field, spec: str, units: Sequence[float] | None, reference: str | None) -> Field:
    """The field with one more shape of its map."""
    name, _, size = spec.partition(":")
    if spec == "scaled":
        if units is None:
            raise ArgumentError("--map scaled needs data with units: csv:FILE?scale=FILE or parquet:FILE?scale=FILE")
        return Scaled(field, units)
    if name == "relative":
        if reference is None:
            raise ArgumentError(f"expected the reference of the map {spec!r}: only certify makes one of data")
        return Relative(field, unpacked(reference, spec), size.rpartition("@")[0])
    if name not in _MAPS or (size and name not in _SIZED):
        raise ArgumentError(f"expected a map ({', '.join(MAPS)}), got {spec!r}")
    return _MAPS[name](field, size)


def default_maps(attribution: str) -> tuple[str, ...]:
    """The shapes of a method's maps unless others are asked for."""
    return ("centred",) if _method(attribution) in _CAMS else ()


def _attribution(model: Model, name: str, output: Output) -> Field:
    if _method(name) in _CAMS:
        return _activation_map(model, name, output)
    if names_code(name):
        return _own(model, name, output)
    if name not in _CAPTUM and name in FIELDS:
        return FIELDS[name](model, output)
    if name not in _CAPTUM:
        meant = did_you_mean(closest(_method(name), (*FIELDS, *_CAMS, *_CAPTUM)))
        raise ArgumentError(f"expected an attribution ({', '.join(ATTRIBUTIONS)}), got {name!r}{meant}")
    if output != "logit":
        raise ArgumentError(f"{name} explains the logit, not the {output}")
    from attribound.fields.captum import named  # captum takes seconds to import: only where it is used

    return named(name, model)


def names_code(attribution: str) -> bool:
    """Whether an attribution is the user's own `module:Field`: code, which no file may choose."""
    module = attribution.partition(":")[0]
    named = ":" in attribution and all(part.isidentifier() for part in module.split("."))
    return named and _method(attribution) not in _CAMS


def _own(model: Model, spec: str, output: Output) -> Field:
    """The user's own field of `module:Field`; records call it so."""
    own = load_own(spec, "attribution")
    try:
        takes = inspect.signature(own).parameters
        field = own(model, output=output) if "output" in takes else own(model)
    except Exception as error:  # whatever the user's own code raises
        raise ArgumentError(f"cannot make the attribution {spec!r}: {type(error).__name__}: {error}") from None
    if not isinstance(field, Field) or field.output != output:
        kind = f"a field of the {output}" if isinstance(field, Field) else "a field"
        raise ArgumentError(f"expected {spec!r} to make {kind}, got {type(field).__name__}")
    field.name = spec
    return field


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
