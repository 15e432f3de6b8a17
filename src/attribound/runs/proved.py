"""What records prove, derived anew: stated numbers are shown only where the evidence gives at least as much.

Many records are checked at once, so that tables, pages and exports can afford it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import final

import msgspec
import numpy as np
import numpy.typing as npt

from attribound.bounds.cells import Majority
from attribound.bounds.evidence import Evidence
from attribound.bounds.facts import Fact, Length
from attribound.bounds.rules import RULES, Rule
from attribound.bounds.visible import visible_cosine
from attribound.certificates.cell_checks import overstated_cells
from attribound.certificates.certificate import Certificate
from attribound.certificates.reasons import overstated_reasons
from attribound.certificates.record import Failure, Record, seal_of
from attribound.checks import FloatArray
from attribound.runs.config import RunConfig

_BLOCK = 1000
_TOLERANCE = 1e-9


@final
@dataclass(frozen=True)
class Proved:
    """A record whose stated numbers all follow from its evidence.

    Attributes:
        record: the record; where it stated more than it proves, with the derived numbers instead.
        doubts: what was wrong with the record as stored, in words; empty if nothing was.
    """

    record: Record
    doubts: tuple[str, ...] = ()


def prove_all(records: Iterable[Record | Failure], config: RunConfig) -> Iterator[Proved | Failure]:
    """Check records in blocks, in their order; failures pass through."""
    block: list[Record | Failure] = []
    for record in records:
        block.append(record)
        if len(block) == _BLOCK:
            yield from _prove(block, config)
            block = []
    yield from _prove(block, config)


def _prove(block: Sequence[Record | Failure], config: RunConfig) -> Iterator[Proved | Failure]:
    certified = [one for one in block if isinstance(one, Record)]
    honest = dict(zip(map(id, certified), _honest(certified), strict=True))
    for record in block:
        if isinstance(record, Failure):
            yield record
            continue
        doubts = [
            *([] if honest[id(record)] else ["states more than follows from its evidence"]),
            *foreign(record, config),
        ]
        if honest[id(record)]:
            yield Proved(record, tuple(doubts))
            continue
        epsilons, cosines = map(float, record.cosine), map(float, record.max_epsilon)
        yield Proved(Certificate(bare(record)).stating(epsilons, cosines).record, tuple(doubts))


def bare(record: Record) -> Record:
    """The record without facts that state what follows from them: they must be checked one by one to be believed."""
    left = {name: fact for name, fact in record.facts.items() if name not in {kind.name for kind in _checked_singly()}}
    return msgspec.structs.replace(record, facts=left)


def bare_evidence(record: Record) -> Evidence:
    """The evidence of the bare record."""
    known = record.evidence()
    left = {kind: fact for kind, fact in known.facts.items() if kind not in _checked_singly()}
    return Evidence(known.law, known.limit, left)


@cache
def _checked_singly() -> frozenset[type[Fact]]:
    """Facts of rules that have problems of their own."""
    own = [rule for rule in RULES if type(rule).problems is not Rule.problems]
    return frozenset(fact for rule in own for fact in rule.needs) - {Length}


def foreign(record: Record, config: RunConfig) -> list[str]:
    """Where a record does not belong to its run, or was changed after it was written."""
    found = []
    if record.alpha != config.alpha:
        found.append(f"has alpha {record.alpha:g}, its run {config.alpha:g}")
    if record.samples > config.samples + record.block or not _same_noise(config, record):
        found.append("has other samples or noise than its run")
    if config.model_sha256 and record.model_sha256 != config.model_sha256:
        found.append("is about another model than its run")
    if record.seal != seal_of(record):
        found.append("was changed after it was written: its seal does not fit")
    return found


def _same_noise(config: RunConfig, record: Record) -> bool:
    kind, _, scale = config.noise.partition(":")
    wanted = f"{kind}:{float(scale)!r}" if kind == record.noise.kind else config.noise
    return record.subject.noise == wanted and record.noise.units == config.units


def _honest(records: Sequence[Record]) -> list[bool]:
    """Which records state no more than they prove."""
    families: dict[object, list[int]] = defaultdict(list)
    evidences = [record.evidence() for record in records]
    for place, (record, evidence) in enumerate(zip(records, evidences, strict=True)):
        if any(rule.problems(evidence) for rule in RULES if rule.applies(evidence)):
            continue
        tables = (record.cosine, record.visible_cosine, record.max_epsilon, record.max_visible_epsilon)
        families[evidence.family, tuple(tuple(table) for table in tables)].append(place)
    honest = [False] * len(records)
    for places in families.values():
        stacked = Evidence.stack([evidences[place] for place in places])
        fine = _all_proved(stacked, [records[place] for place in places])
        for place, one in zip(places, fine, strict=True):
            honest[place] = bool(one)
    return honest


def _all_proved(evidence: Evidence, records: Sequence[Record]) -> npt.NDArray[np.bool_]:
    """(N,) whether every stated number is proved; all records state the same keys."""
    draws = np.array([record.draws for record in records], np.float64)[:, None]

    def visible(epsilon: FloatArray) -> FloatArray:
        return visible_cosine(evidence, epsilon, draws)

    fine = np.ones(len(records), bool)
    for name, answer in (("cosine", evidence.cosine), ("visible_cosine", visible)):
        for key in getattr(records[0], name):
            stated = _column(records, name, key)
            fine &= (stated <= answer(np.array([float(key)])) + _TOLERANCE)[:, 0]
    for name, answer in (("max_epsilon", evidence.cosine), ("max_visible_epsilon", visible)):
        for key in getattr(records[0], name):
            stated = _column(records, name, key)
            fine &= ((stated <= 0) | (answer(np.maximum(stated, 0.0)) >= float(key) - _TOLERANCE))[:, 0]
    return np.asarray(fine & _class_proved(evidence, records) & [not _overstated(one) for one in records])


def _class_proved(evidence: Evidence, records: Sequence[Record]) -> npt.NDArray[np.bool_]:
    """(N,) whether what is stated about the class is proved."""
    known = evidence.fact(Majority).radius(evidence.law)[:, 0] if Majority in evidence.facts else np.zeros(len(records))
    fine = np.array([one.prediction_radius or 0.0 for one in records]) <= known + _TOLERANCE
    for at, one in enumerate(records):
        for key, joint in one.joint_epsilon.items():
            fine[at] &= joint <= min(known[at], one.max_epsilon.get(key, 0.0)) + _TOLERANCE
    return fine


def _overstated(record: Record) -> list[str]:
    """What is stated about single cells and reasons and does not follow."""
    if not record.cells and not record.stated_reasons:
        return []
    certificate = Certificate(record)
    return overstated_cells(certificate) + overstated_reasons(certificate)


def _column(records: Sequence[Record], name: str, key: str) -> FloatArray:
    return np.array([getattr(record, name)[key] for record in records], np.float64)[:, None]
