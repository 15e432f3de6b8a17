"""What records prove, derived anew: stated numbers are shown only where the evidence gives at least as much.

Many records are checked at once, so that tables, pages and exports can afford it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import final

import msgspec
import numpy as np
import numpy.typing as npt

from attribound.bounds.cells import Majority
from attribound.bounds.evidence import Evidence
from attribound.bounds.facts import Closeness, Fact, Length, Spread
from attribound.bounds.rules import RULES, Rule
from attribound.bounds.visible import visible_cosine
from attribound.certificates.certificate import Certificate
from attribound.certificates.record import Failure, Record, seal_of
from attribound.certificates.statements.registry import STATEMENTS
from attribound.certificates.verify import consistency_of
from attribound.checks import FloatArray
from attribound.runs.config import RunConfig

_BLOCK = 1000
_TOLERANCE = 1e-9


@final
@dataclass(frozen=True)
class ProvedRecord:
    """A record whose stated numbers all follow from its evidence.

    Attributes:
        record: the record; where it stated more than it proves, with the derived numbers instead; where it contradicts
            itself or its run, stating nothing.
        doubts: what was wrong with the record as stored, in words; empty if nothing was.
    """

    record: Record
    doubts: tuple[str, ...] = ()


def prove_all(records: Iterable[Record | Failure], config: RunConfig) -> Iterator[ProvedRecord | Failure]:
    """Check records in blocks, in their order; failures pass through."""
    block: list[Record | Failure] = []
    for record in records:
        block.append(record)
        if len(block) == _BLOCK:
            yield from _prove(block, config)
            block = []
    yield from _prove(block, config)


def _prove(block: Sequence[Record | Failure], config: RunConfig) -> Iterator[ProvedRecord | Failure]:
    records = [one for one in block if isinstance(one, Record)]
    broken = dict(zip(map(id, records), consistency_of([Certificate(one) for one in records]), strict=True))
    sound = [one for one in records if not broken[id(one)]]
    overstated = {id(one) for one, honest in zip(sound, _honest(sound), strict=True) if not honest}
    for record in block:
        if isinstance(record, Failure):
            yield record
            continue
        more = ["states more than follows from its evidence"] if id(record) in overstated else []
        false = [*broken[id(record)], *foreign(record, config)]
        if false:
            record = _silenced(record)
        elif more:
            epsilons, cosines = map(float, record.cosine), map(float, record.max_epsilon)
            record = Certificate(record).stating(epsilons, cosines).record
        yield ProvedRecord(record, (*more, *false))


def _silenced(record: Record) -> Record:
    """The record without anything that it claims: from what contradicts itself, or its run, nothing follows."""
    # True of any field of limit 1; limit and draws as stored may be numbers from which nothing can be computed.
    facts = (Length(lower=0.0, sampled=0.0), Spread(eigenvalue=1.0), Closeness(radius=2.0, attacked_alpha=0.5))
    return msgspec.structs.replace(
        record,
        bound=msgspec.structs.replace(record.bound, limit=1.0),
        draws=max(record.draws, 2),
        facts={fact.name: fact.to_json() for fact in facts},
        norm_lower=0.0,
        eigenvalue_upper=1.0,
        map_radius=2.0,
        status="uncertified",
        reason="",
        rule=None,
        cosine=dict.fromkeys(record.cosine, -1.0),
        visible_cosine=dict.fromkeys(record.visible_cosine, -1.0),
        max_epsilon=dict.fromkeys(record.max_epsilon, 0.0),
        max_visible_epsilon=dict.fromkeys(record.max_visible_epsilon, 0.0),
        prediction_radius=None,
        joint_epsilon={},
        cells={},
        reasons=msgspec.UNSET,
        answers=msgspec.UNSET,
    )


def bare_evidence(record: Record) -> Evidence:
    """What a record proves without facts that state what follows from them: each would need a check of its own."""
    known = record.evidence()
    left = {kind: fact for kind, fact in known.facts.items() if kind not in _checked_singly(tuple(RULES))}
    return Evidence(known.law, known.limit, left)


@cache
def _checked_singly(rules: tuple[Rule, ...]) -> frozenset[type[Fact]]:
    """Facts of rules that have problems of their own."""
    own = [rule for rule in rules if type(rule).problems is not Rule.problems]
    return frozenset(fact for rule in own for fact in rule.needs) - {Length}


def foreign(record: Record, config: RunConfig) -> list[str]:
    """Where a record does not belong to its run, or was changed after it was written."""
    pairs = {
        "alpha": (record.alpha, config.alpha),
        "bound": (record.bound.spec, plain_spec(config.bound)),
        "output": (record.output, config.output),
        "precision": (record.subject.precision, config.precision),
        "maps": (tuple(map(plain_spec, record.maps)), tuple(plain_spec(one) for one in config.maps if one != "raw")),
        # Records that were made without a data set have seeds of their own.
        "seed": (record.seed, config.seed if config.data_sha256 else record.seed),
    }
    found = [f"has {name} {mine}, its run {whole}" for name, (mine, whole) in pairs.items() if mine != whole]
    if not same_method(record.attribution, config.attribution):
        found.append(f"has attribution {record.attribution}, its run {config.attribution}")
    if record.samples > config.samples + record.block or not _same_noise(config, record):
        found.append("has other samples or noise than its run")
    if config.model_sha256 and record.model_sha256 != config.model_sha256:
        found.append("is about another model than its run")
    if record.seal != seal_of(record):
        found.append("was changed after it was written: its seal does not fit")
    return found


def _same_noise(config: RunConfig, record: Record) -> bool:
    return (
        record.subject.noise == plain_spec(config.noise)
        and record.noise.units == config.units
        and (record.subject.changes or ()) == config.together
    )


def same_method(known: str, typed: str) -> bool:
    """Whether a record's method is the one typed: NAME[:[LAYER][@HxW]], the layer perhaps left to the model."""
    (name, layer, grid), (typed_name, typed_layer, typed_grid) = map(_method_parts, (known, typed))
    return name == typed_name and typed_layer in ("", layer) and typed_grid in ("", grid)


def _method_parts(method: str) -> tuple[str, str, str]:
    name, _, place = method.partition(":")
    layer, _, grid = place.partition("@")
    return name, layer, grid


@lru_cache(maxsize=64)
def plain_spec(spec: str) -> str:
    """A setting as it was typed, its number written one way: `clip:2` is `clip:2.0`."""
    kind, _, number = spec.partition(":")
    try:
        return f"{kind}:{float(number)!r}"
    except ValueError:
        return spec


def _honest(records: Sequence[Record]) -> list[bool]:
    """Which records state no more than they prove."""
    families: dict[object, list[int]] = defaultdict(list)
    evidences = [record.evidence() for record in records]
    for place, (record, evidence) in enumerate(zip(records, evidences, strict=True)):
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
    for key in records[0].max_epsilon:
        least = _column(records, "max_epsilon", key) - _TOLERANCE
        fine &= ((least <= 0) | evidence.holds(float(key), np.maximum(least, 0.0)))[:, 0]
    for key in records[0].max_visible_epsilon:
        least = _column(records, "max_visible_epsilon", key) - _TOLERANCE
        fine &= ((least <= 0) | (visible(np.maximum(least, 0.0)) >= float(key)))[:, 0]
    fine &= _status_proved(records) & _class_proved(evidence, records)
    return np.asarray(fine & [not _overstated(one) for one in records])


def _status_proved(records: Sequence[Record]) -> npt.NDArray[np.bool_]:
    """(N,) whether status and rule are derived ones, if the epsilons stated are."""
    reached = np.array([any(epsilon > _TOLERANCE for epsilon in one.max_epsilon.values()) for one in records])
    if not reached.all():
        others = Evidence.stack([one.evidence() for one, known in zip(records, reached, strict=True) if not known])
        reached[~reached] = others.max_epsilon(0.0)[:, 0] > 0
    derived = [
        ("assumed" if one.bound.kind == "assumed" else "certified") if known else "uncertified"
        for one, known in zip(records, reached, strict=True)
    ]
    rules = [{rule.name for rule in RULES if rule.applies(one.evidence())} for one in records]
    fine = [
        one.status == status and (one.rule in names if known else one.rule is None)
        for one, status, names, known in zip(records, derived, rules, reached, strict=True)
    ]
    return np.array(fine)


def _class_proved(evidence: Evidence, records: Sequence[Record]) -> npt.NDArray[np.bool_]:
    """(N,) whether what is stated about the class is proved."""
    known = evidence.fact(Majority).radius(evidence.law)[:, 0] if Majority in evidence.facts else np.zeros(len(records))
    fine = np.array([one.prediction_radius or 0.0 for one in records]) <= known + _TOLERANCE
    for key in {key for one in records for key in one.joint_epsilon}:
        joint = np.array([one.joint_epsilon.get(key, 0.0) for one in records])
        fine &= joint <= known + _TOLERANCE
        # An epsilon that is stated, and checked beside this, need not be derived twice.
        stated = np.array([one.max_epsilon.get(key, 0.0) for one in records])
        if not (joint <= stated + _TOLERANCE).all():
            least = joint[:, None] - _TOLERANCE
            fine &= ((least <= 0) | evidence.holds(float(key), np.maximum(least, 0.0)))[:, 0]
    return fine


def _overstated(record: Record) -> list[str]:
    """What statements that are not checked for many records at once state, and what does not follow."""
    certificate = Certificate(record)
    return [problem for one in STATEMENTS.values() if not one.bulk for problem in one.problems(certificate)]


def _column(records: Sequence[Record], name: str, key: str) -> FloatArray:
    return np.array([getattr(record, name)[key] for record in records], np.float64)[:, None]
