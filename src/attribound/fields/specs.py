"""What people type after `--attribution` and `--bound`."""

from collections.abc import Callable

from attribound.errors import ArgumentError
from attribound.fields.base import Field, Model, Output
from attribound.fields.bounded import Assumed, Bounded, Clip, Proved, Unit
from attribound.fields.captum import BY_NAME, Captum
from attribound.fields.integrated import IntegratedGradients
from attribound.fields.saliency import Saliency

_OURS: dict[str, Callable[[Model, Output], Field]] = {
    "saliency": lambda model, output: Saliency(model, output=output),
    "ig": lambda model, output: IntegratedGradients(model, output=output),
    "ig-random": lambda model, output: IntegratedGradients(model, path="random", output=output),
}
ATTRIBUTIONS = (*_OURS, *BY_NAME)
BOUNDS = ("unit", "clip:L", "proved:L", "assumed:L")


def make_field(model: Model, attribution: str = "saliency", bound: str = "unit", output: Output = "logit") -> Bounded:
    """The bounded field of two specs.

    Args:
        model: the classifier.
        attribution: one of ATTRIBUTIONS.
        bound: "unit", "clip:L", "proved:L" or "assumed:L" with a number L.
        output: "logit" or "probability".
    """
    return _bounded(_attribution(model, attribution, output), bound)


def _attribution(model: Model, name: str, output: Output) -> Field:
    if name in _OURS:
        return _OURS[name](model, output)
    if name not in BY_NAME:
        raise ArgumentError(f"expected an attribution ({', '.join(ATTRIBUTIONS)}), got {name!r}")
    if output != "logit":
        raise ArgumentError(f"{name} explains the logit, not the {output}")
    return Captum(BY_NAME[name](model))


def _bounded(field: Field, bound: str) -> Bounded:
    kind, colon, number = bound.partition(":")
    if bound == "unit":
        return Unit(field)
    kinds = {"clip": Clip, "assumed": Assumed}
    try:
        limit = float(number)
        if kind in kinds and colon:
            return kinds[kind](field, limit)
        if kind == "proved" and colon:
            return Proved(field, limit, reason="stated on the command line")
    except ValueError as error:
        if isinstance(error, ArgumentError):
            raise
    raise ArgumentError(f"expected a bound ({', '.join(BOUNDS)}, L a number), got {bound!r}")
