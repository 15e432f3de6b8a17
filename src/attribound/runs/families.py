"""Many records at once: those of one family differ in numbers only, so that what they share is checked once.

What is cleared here is what the check of single records finds nothing wrong with. Whatever is not cleared, for whatever
reason, is left to that check: here nothing is refused, and nothing has to be put into words.
"""

import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, final

import msgspec
import numpy as np
import numpy.typing as npt

from attribound.bounds.evidence import Evidence
from attribound.bounds.facts import Basis, Closeness, Fact, Length, Spread
from attribound.bounds.registry import FACTS
from attribound.bounds.rules import RULES
from attribound.certificates.certificate import Certificate
from attribound.certificates.record import Failure, Record, check_keys
from attribound.certificates.verify import TOLERANCE, consistency, radii_again
from attribound.checks import FloatArray
from attribound.runs.config import RunConfig
from attribound.runs.honesty import all_proved
from attribound.runs.membership import foreign

BoolArray = npt.NDArray[np.bool_]

SHARED = (
    "format",
    "dim",
    "noise",
    "attribution",
    "maps",
    "output",
    "bound",
    "samples",
    "draws",
    "alpha",
    "seed",
    "status",
    "rule",
    "stopped",
    "budget",
    "until",
    "map_shape",
    "features",
    "model_sha256",
)
"""What all records of a family have alike, to the last digit."""

TABLES = ("facts", "cosine", "visible_cosine", "max_epsilon", "max_visible_epsilon", "joint_epsilon")
"""Of these they have the same keys."""

NUMBERS = ("norm", "norm_lower", "eigenvalue_upper", "map_radius")
OWN = (
    *NUMBERS,
    "item",
    "label",
    "target",
    "prediction",
    "prediction_radius",
    "fidelity",
    "reason",
    "seconds",
    "versions",
    "input_sha256",
    "map_sha256",
    "accuracy_noisy",
    "subject",
    "seal",
)
"""Each has its own; what is wrong with these is looked for in every record, if anything can be."""

ABSENT = {"cells": {}, "reasons": msgspec.UNSET, "answers": msgspec.UNSET, "map": None}
"""Records that have these are looked at one by one."""

_FEW = 8
"""Fewer records are not looked at together again: one by one is about as quick."""

_shared, _tables, _absent, _numbers = (attrgetter(*names) for names in (SHARED, TABLES, ABSENT, NUMBERS))
_NOTHING = tuple(ABSENT.values())


@final
@dataclass(frozen=True)
class Family:
    """Records of which nothing is wrong, and their evidence, stacked.

    Attributes:
        places: where they stand in the block.
        evidence: of all of them, in that order.
    """

    places: list[int]
    evidence: Evidence


def clear(block: Sequence[Record | Failure], config: RunConfig) -> list[Family]:
    """The families of a block, each without those that are not cleared; failures are in none."""
    alike: dict[object, list[int]] = defaultdict(list)
    for place, record in enumerate(block):
        if isinstance(record, Failure):
            continue
        if _absent(record) == _NOTHING and record.sealed and min(record.target, record.prediction) >= 0:
            facts, *tables = _tables(record)
            keys = map(tuple, (facts, *facts.values(), *tables))
            alike[_shared(record), *keys].append(place)
    return [family for places in alike.values() for family in _families(block, places, config)]


def _families(block: Sequence[Record | Failure], places: list[int], config: RunConfig) -> list[Family]:
    """The cleared ones of records alike; where one is odd, its half goes on by halves, and a few are left."""
    try:
        return [_cleared([one for at in places if isinstance(one := block[at], Record)], places, config)]
    except (ValueError, TypeError, ArithmeticError):
        half = len(places) // 2
        parts = [places[:half], places[half:]] if half >= _FEW else []
        return [family for part in parts for family in _families(block, part, config)]


def _cleared(members: list[Record], places: list[int], config: RunConfig) -> Family:
    """The cleared ones of records alike; a ValueError if one is odd in what all of them should share."""
    check_keys(members[0])
    if consistency(Certificate(members[0])) or foreign(members[0], config):
        raise ValueError("nothing follows from the first one for the others")
    evidence = _stacked(members)
    for check in (_agreeing, _derived, all_proved):  # from what contradicts itself nothing is derived
        kept = np.flatnonzero(check(evidence, members))
        if not kept.size:
            return Family([], evidence.rows(kept))
        if len(kept) < len(members):
            places, members = [places[at] for at in kept], [members[at] for at in kept]
            evidence = evidence.rows(kept)
    return Family(places, evidence)


def _stacked(members: Sequence[Record]) -> Evidence:
    """The evidence of records alike; a ValueError if any fact of any of them is, or may be, none."""
    first = members[0]
    known, bound = first.evidence(), first.bound
    basis = Basis(bound.limit, first.draws, first.alpha, first.block, known.law)
    facts, spent = dict[type[Fact], Fact](), 0.0
    for name in first.facts:
        kind = FACTS[name]
        if not kind.boxed:
            raise ValueError(f"{name} takes a closer look")
        values = _values([one.facts[name] for one in members])
        ends = [kind.from_json(corner) for corner in kind.corners(_named(first, name, values))]
        if any(end.problems(basis) for end in ends):
            raise ValueError(f"{name} may be none")
        facts[kind] = kind(**{key: values[:, at][:, None] for at, key in enumerate(first.facts[name])})
        spent += max(end.spent for end in ends)
    if spent > first.alpha:
        raise ValueError("more alpha may be spent than there is")
    return Evidence(known.law, np.full((len(members), 1), bound.limit), facts, known.budget)


def _named(first: Record, name: str, values: FloatArray) -> dict[str, FloatArray]:
    return {key: values[:, at] for at, key in enumerate(first.facts[name])}


def _values(stored: Sequence[dict[str, Any]]) -> FloatArray:
    """(N, fields, ...) the numbers of one fact of many records; a ValueError unless all are finite floats."""
    columns = list(itertools.chain.from_iterable(one.values() for one in stored))
    shape: tuple[int, ...] = (len(stored), len(columns) // len(stored))
    if columns and type(columns[0]) is list:
        if set(map(type, columns)) != {list} or len(set(map(len, columns))) != 1:
            raise ValueError("one has more numbers than another")
        shape, columns = (*shape, len(columns[0])), list(itertools.chain.from_iterable(columns))
    if set(map(type, columns)) - {float}:
        raise ValueError("a number of another type")
    values = np.array(columns, np.float64).reshape(shape)
    if not np.isfinite(values).all():
        raise ValueError("a number that is not finite")
    return values


def _agreeing(evidence: Evidence, members: Sequence[Record]) -> BoolArray:
    """(N,) whether nothing that a record states twice is stated in two ways."""
    first = members[0]
    stated = np.array(list(map(_numbers, members)), np.float64)
    norm, lower, eigenvalue, radius = stated.T
    length, closeness = evidence.fact(Length), evidence.fact(Closeness)
    held = np.hstack([length.sampled, length.lower, evidence.fact(Spread).eigenvalue, closeness.radius])
    draws = np.full(len(members), float(first.draws))
    limit, alpha = np.ravel(evidence.limit), np.ravel(closeness.attacked_alpha)
    again = radii_again(limit=limit, norm=lower, draws=draws, eigenvalue=eigenvalue / first.block, alpha=alpha)
    fine = _same(stated, held).all(axis=1) & _same(radius, again) & (lower <= (norm + radius) * (1 + TOLERANCE))
    fidelity = np.array([0.0 if one.fidelity is None else one.fidelity for one in members])
    return np.asarray(fine & (np.abs(fidelity) <= 1 + TOLERANCE) & _same_subject(members))


def _same_subject(members: Sequence[Record]) -> BoolArray:
    """(N,) whether subjects are the first one's, whose own was checked, but for the input."""
    subject = members[0].subject
    return np.array(
        [
            one.subject
            == msgspec.structs.replace(subject, item=one.item, input=one.subject.input, input_sha256=one.input_sha256)
            for one in members
        ]
    )


def _same(first: FloatArray, second: FloatArray) -> BoolArray:
    """As `math.isclose` says it of single numbers."""
    most = np.maximum(np.abs(first), np.abs(second))
    return np.asarray((np.abs(first - second) <= TOLERANCE * most) & np.isfinite(most))


def _derived(evidence: Evidence, members: Sequence[Record]) -> BoolArray:
    """(N,) whether every fact follows from others by the rule that it is for."""
    clear = [rule.clear(evidence) for rule in RULES if rule.applies(evidence)]
    return np.asarray(np.logical_and.reduce([np.ones(len(members), bool), *clear]))
