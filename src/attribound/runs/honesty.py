"""Which of many records state no more than they prove; all of them have one law, the same facts and the same keys."""

import itertools
from collections.abc import Sequence
from operator import attrgetter

import numpy as np
import numpy.typing as npt

from attribound.bounds.cells import Majority
from attribound.bounds.evidence import Evidence
from attribound.bounds.rules import RULES, Rule
from attribound.bounds.visible import visible_cosine
from attribound.certificates.certificate import Certificate
from attribound.certificates.record import Record
from attribound.certificates.statements.base import REFERENCE_COSINE, ROUNDING, Statement, spare
from attribound.certificates.statements.registry import STATEMENTS
from attribound.certificates.verify import unknown_answers
from attribound.checks import FloatArray
from attribound.rounding import exact_text

BoolArray = npt.NDArray[np.bool_]


def all_proved(evidence: Evidence, records: Sequence[Record]) -> BoolArray:
    """(N,) whether every stated number is proved; all records state the same keys."""
    fine = _proved(evidence, records, [rule.quick for rule in RULES])
    rest = np.flatnonzero(~fine)
    if rest.size:  # what quick rules do not prove, the whole ones may
        fine[rest] = _proved(evidence.rows(rest), [records[at] for at in rest.tolist()], RULES)
    return fine


def _proved(evidence: Evidence, records: Sequence[Record], rules: Sequence[Rule]) -> BoolArray:
    """(N,) the same by some rules."""
    draws = np.array([record.draws for record in records], np.float64)[:, None]

    def cosine(epsilon: FloatArray) -> FloatArray:
        return evidence.cosine(epsilon, rules)

    def visible(epsilon: FloatArray) -> FloatArray:
        return visible_cosine(evidence, epsilon, draws, rules)

    fine, more = np.ones(len(records), bool), spare(evidence.law)
    for name, answer in (("cosine", cosine), ("visible_cosine", visible)):
        for key, stated in _columns(records, name).items():
            fine &= (stated <= answer(np.array([float(key)])) + ROUNDING)[:, 0]
    for key, stated in _columns(records, "max_epsilon").items():
        least = stated - more
        fine &= ((least <= 0) | evidence.holds(float(key), np.maximum(least, 0.0), rules))[:, 0]
    for key, stated in _columns(records, "max_visible_epsilon").items():
        least = stated - more
        fine &= ((least <= 0) | (visible(np.maximum(least, 0.0)) >= float(key)))[:, 0]
    fine &= _status_proved(evidence, records) & _class_proved(evidence, records)
    return np.asarray(fine & ~_overstated(records))


def _status_proved(evidence: Evidence, records: Sequence[Record]) -> BoolArray:
    """(N,) whether status and rule are derived ones, if the epsilons stated are."""
    reached = np.zeros(len(records), bool)
    for stated in _columns(records, "max_epsilon").values():
        reached |= stated[:, 0] > spare(evidence.law)
    if not reached.all():
        reached[~reached] = evidence.rows(np.flatnonzero(~reached)).max_epsilon(0.0)[:, 0] > 0
    fine = [
        one.status == (("assumed" if one.bound.kind == "assumed" else "certified") if known else "uncertified")
        for one, known in zip(records, reached, strict=True)
    ]
    return np.where(reached, _rule_proved(evidence, records), [one.rule is None for one in records]) & fine


def _rule_proved(evidence: Evidence, records: Sequence[Record]) -> BoolArray:
    """(N,) whether the rule named proves the epsilon stated at the reference cosine, or anything where none is."""
    key = exact_text(REFERENCE_COSINE)
    stated = np.array([one.max_epsilon.get(key, 0.0) for one in records])[:, None] - spare(evidence.law)
    wanted, fine = np.where(stated > 0, REFERENCE_COSINE, 0.0), np.zeros(len(records), bool)
    for rule in RULES:
        places = np.flatnonzero([one.rule == rule.name for one in records])
        if places.size and rule.applies(evidence):
            known = rule.certified(evidence.rows(places), np.maximum(stated[places], 0.0))
            fine[places] = (known >= wanted[places] - ROUNDING)[:, 0]
    return fine


def _class_proved(evidence: Evidence, records: Sequence[Record]) -> BoolArray:
    """(N,) whether what is stated about the class is proved."""
    known = evidence.fact(Majority).radius(evidence.law)[:, 0] if Majority in evidence.facts else np.zeros(len(records))
    more = spare(evidence.law)
    fine = np.array([one.prediction_radius or 0.0 for one in records]) <= known + more
    for key in {key for one in records for key in one.joint_epsilon}:
        joint = np.array([one.joint_epsilon.get(key, 0.0) for one in records])
        fine &= joint <= known + more
        # An epsilon that is stated, and checked beside this, need not be derived twice.
        stated = np.array([one.max_epsilon.get(key, 0.0) for one in records])
        if not (joint <= stated).all():
            least = joint[:, None] - more
            fine &= ((least <= 0) | evidence.holds(float(key), np.maximum(least, 0.0)))[:, 0]
    return fine


def _overstated(records: Sequence[Record]) -> BoolArray:
    """(N,) whether statements that are not checked for many records at once state what does not follow."""
    single = [one for one in STATEMENTS.values() if not one.bulk]
    facts = {fact.name for one in single for fact in one.facts}
    return np.array(
        [
            # Most records state nothing of theirs, nor know anything that they are about.
            (_states_more(record) or not facts.isdisjoint(record.facts)) and _is_overstated(record, single)
            for record in records
        ]
    )


def _states_more(record: Record) -> bool:
    return bool(record.cells or record.stated_reasons or record.stated_answers)


def _is_overstated(record: Record, statements: Sequence[type[Statement]]) -> bool:
    certificate = Certificate(record)
    return any(one.problems(certificate) for one in statements) or bool(unknown_answers(record))


def _columns(records: Sequence[Record], name: str) -> dict[str, FloatArray]:
    """By key, the numbers (N, 1) of a table whose keys all records have in the same order."""
    tables = list(map(attrgetter(name), records))
    values = np.array(list(itertools.chain.from_iterable(map(dict.values, tables))), np.float64)
    return dict(zip(tables[0], values.reshape(len(tables), -1, 1).swapaxes(0, 1), strict=True))
