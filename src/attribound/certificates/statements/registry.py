"""Every statement by its name."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attribound.bounds.registry import FACTS
from attribound.bounds.shares import claim
from attribound.certificates.statements.base import COSINES, Asking, Statement
from attribound.certificates.statements.cells import Cells
from attribound.certificates.statements.cosine import Cosine
from attribound.certificates.statements.error_bars import Intervals
from attribound.certificates.statements.prediction import Prediction
from attribound.certificates.statements.reasons import TopReasons
from attribound.errors import ArgumentError
from attribound.plugins import Registry

if TYPE_CHECKING:
    from attribound.certificates.certificate import Certificate
    from attribound.sampling.statistic import Statistic

STATEMENTS: Registry[type[Statement]] = Registry(
    "statement",
    {
        statement.name: statement
        for statement in (
            Cosine,
            Prediction,
            Intervals,
            Cells,
            TopReasons,
        )
    },
)
"""Every statement, in the order in which statistics see draws; a new one adds a file and a line here."""


def register_statement(statement: type[Statement], *, shares: Mapping[str, float]) -> type[Statement]:
    """Make a statement of another package known, with the parts of alpha that its statistics spend.

    Args:
        statement: the class.
        shares: by the name of each fact that its statistics prove; they come out of the reserve.
    """
    for name, share in shares.items():
        claim(name, share)
    for fact in statement.facts:
        FACTS.register(fact.name, fact)
    return STATEMENTS.register(statement.name, statement)


def ask(asked: Mapping[str, Any], asking: Asking) -> list[Statement]:
    """The statements of a certificate: those that it always makes, and those that were asked for."""
    for name in asked:
        if name not in STATEMENTS or STATEMENTS[name].option is None:
            known = ", ".join(one.name for one in STATEMENTS.values() if one.option is not None)
            raise ArgumentError(f"expected a known statement ({known}), got {name!r}")
    return [
        one.ask(asked.get(one.name), asking)
        for one in STATEMENTS.values()
        if one.option is None or _wanted(asked.get(one.name))
    ]


def _wanted(value: Any) -> bool:
    """Whether a value asks for anything: nothing, zero, an empty list and an empty text do not."""
    if value is None:
        return False
    try:
        return len(value) > 0
    except TypeError:  # a number, of whatever kind
        return bool(value)


def asked_again(certificate: "Certificate") -> dict[str, Any]:
    """What asks for the same optional statements again, as plain JSON values."""
    return {
        one.name: one.asked(certificate)
        for one in STATEMENTS.values()
        if one.option is not None and one.made(certificate.evidence)
    }


def words(certificate: "Certificate") -> dict[str, str]:
    """What every statement says, a line each by what it is about: all that page, console and notebook know of it."""
    made = (one for one in STATEMENTS.values() if one.made(certificate.evidence))
    return {about: text for one in made for about, text in one.words(certificate).items()}


def statistics(*, cosines: Sequence[float] = COSINES, **asked: Any) -> "list[Statistic]":
    """What a certificate that is asked for this collects."""
    statements = ask(asked, Asking("the method", 1, tuple(cosines)))
    return [one for statement in statements for one in statement.statistics()]
