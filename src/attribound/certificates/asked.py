"""What a certificate was asked for besides its cosines: when to stop, cells, reasons, names; and asking it again."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import UNSET

from attribound import checks as check
from attribound.bounds.cells import ErrorBars, Votes
from attribound.bounds.orders import Orders
from attribound.bounds.rules.moment import MomentBounds
from attribound.certificates.record import Record, TopKRecord
from attribound.errors import ArgumentError
from attribound.fields.bounded import Bounded
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


def fractions_of(cells: Sequence[float], field: Bounded) -> tuple[float, ...]:
    """The fractions, if votes mean something for this field."""
    fractions = tuple(np.atleast_1d(check.fraction("cells", cells)).tolist())
    if fractions and field.block > 1:
        raise ArgumentError(
            f"expected no `cells` for {field.name} on a random path: {field.block} noisy inputs share a map"
        )
    return fractions


def reasons_of(reasons: Any, field: Bounded) -> int:
    """How many reasons are wanted, if orders mean something for this field."""
    number = check.whole("reasons", reasons)
    if number and field.block > 1:
        raise ArgumentError(
            f"expected no `reasons` for {field.name} on a random path: {field.block} noisy inputs share a map"
        )
    return number


def names_of(features: Sequence[str], size: int) -> tuple[str, ...]:
    """Names of a map's cells, one for each or none."""
    names = tuple(str(name) for name in features)
    if names and len(names) != size:
        raise ArgumentError(f"expected one of `features` per cell of the map ({size}), got {len(names)}")
    return names


def asked(record: Record) -> dict[str, Any]:
    """What `Certifier` must be asked to make the same record again: until, cosines, cells, reasons, names and so on."""
    facts = record.evidence().facts
    votes, moments, orders, until = facts.get(Votes), facts.get(MomentBounds), facts.get(Orders), record.until
    again: dict[str, Any] = {
        "until": TopK(until.top_k, until.epsilon) if isinstance(until, TopKRecord) else until,
        "cells": tuple(votes.fractions.tolist()) if isinstance(votes, Votes) else (),
        "intervals": ErrorBars in facts,
        "reasons": len(orders.places) if isinstance(orders, Orders) else 0,
        "features": () if record.features is UNSET else record.features,
    }
    if cosines := moments.cosine.tolist() if isinstance(moments, MomentBounds) else [*map(float, record.max_epsilon)]:
        again["cosines"] = tuple(cosines)
    if record.cosine:
        again["epsilons"] = tuple(map(float, record.cosine))
    return again
