"""What a certificate was asked for: when to stop, names, statements; and asking it again."""

from collections.abc import Sequence
from typing import Any

from attribound import checks as check
from attribound.bounds.rules.moment import MomentBounds
from attribound.certificates.certificate import Certificate
from attribound.certificates.record import TopKRecord
from attribound.certificates.statements.registry import asked_again
from attribound.errors import ArgumentError
from attribound.sampling import CosineAt, Question, TopK

Until = tuple[float, float] | Question | None
"""(cosine, epsilon), or a question such as `TopK(10)`."""


def question_of(until: Until) -> Question | None:
    """The question that `until` asks."""
    if until is None or isinstance(until, Question):
        return until
    try:
        cosine, epsilon = until
    except (TypeError, ValueError):
        raise ArgumentError(f"expected `until` to be (cosine, epsilon) or TopK(k), got {until!r}") from None
    return CosineAt(float(check.fraction("until's cosine", cosine)), float(check.positive("until's epsilon", epsilon)))


def recorded(question: Question | None) -> tuple[float, float] | TopKRecord | None:
    """The question as a record keeps it."""
    if isinstance(question, TopK):
        return TopKRecord(question.k, question.epsilon)
    return (question.cosine, question.epsilon) if isinstance(question, CosineAt) else None


def names_of(features: Sequence[str], size: int) -> tuple[str, ...]:
    """Names of a map's cells, one for each or none."""
    names = tuple(str(name) for name in features)
    if names and len(names) != size:
        raise ArgumentError(f"expected one of `features` per cell of the map ({size}), got {len(names)}")
    return names


def again(certificate: Certificate) -> dict[str, Any]:
    """What `Certifier` must be asked to make the same record again: until, names, cosines, and every statement."""
    record, evidence = certificate.record, certificate.evidence
    moments, until = evidence.facts.get(MomentBounds), record.until
    asked = asked_again(certificate)
    asked["until"] = TopK(until.top_k, until.epsilon) if isinstance(until, TopKRecord) else until
    asked["features"] = certificate.features
    if cosines := moments.cosine.tolist() if isinstance(moments, MomentBounds) else [*map(float, record.max_epsilon)]:
        asked["cosines"] = tuple(cosines)
    if record.cosine:
        asked["epsilons"] = tuple(map(float, record.cosine))
    return asked
