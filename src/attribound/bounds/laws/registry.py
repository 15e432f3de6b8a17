"""Every law by the name that people type."""

from attribound import checks as check
from attribound.bounds.laws.ball import Ball
from attribound.bounds.laws.base import Law
from attribound.bounds.laws.normal import Normal
from attribound.errors import ArgumentError
from attribound.plugins import Registry
from attribound.suggest import closest, closest_noise, did_you_mean

LAWS: Registry[type[Law]] = Registry(
    "law",
    {
        law.kind: law
        for law in (
            Ball,
            Normal,
        )
    },
)
"""Every law; a new one adds a file and a line here, or a call of `register_law` from outside (docs/extend/law.md)."""


def register_law(law: type[Law]) -> type[Law]:
    """Make a law of another package known by its kind; usable as a decorator."""
    return LAWS.register(law.kind, law)


def parse_law(spec: str, dim: int) -> Law:
    """The law of `kind:value` in `dim` dimensions."""
    kind, value = split_spec(spec)
    return kind(dim, value)


def split_spec(spec: str) -> tuple[type[Law], float]:
    """The law's class and parameter in `kind:value`."""
    kind, _, number = spec.partition(":")
    law = LAWS.get(kind)
    try:
        if law is None:
            raise ArgumentError(kind)
        return law, float(check.positive("noise", float(number)))
    except ValueError:
        forms = " or ".join(f"{law.kind}:{law.parameter.upper()}" for law in LAWS.values())
        name = "" if law is not None else closest(kind, LAWS)
        meant = did_you_mean(closest_noise(spec) or (f"{name}:{number}" if name and number else name))
        raise ArgumentError(f"expected a noise, {forms} with a positive number, got {spec!r}{meant}") from None
