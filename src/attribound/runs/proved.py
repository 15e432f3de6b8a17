"""What records prove, derived anew: stated numbers are shown only where the evidence gives at least as much.

Many records are checked at once, so that tables, pages and exports can afford it.
"""

import contextlib
import gc
import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import final

import msgspec
import numpy as np

from attribound.bounds.evidence import Evidence
from attribound.bounds.facts import Closeness, Length, Spread
from attribound.certificates.certificate import Certificate
from attribound.certificates.record import Failure, Record, check_evidence
from attribound.certificates.verify import consistency_of
from attribound.runs.config import RunConfig
from attribound.runs.families import Family, clear
from attribound.runs.honesty import all_proved
from attribound.runs.membership import foreign
from attribound.runs.store import Store

_BLOCK = 1000


@final
@dataclass(frozen=True)
class ProvedRecord:
    """A record whose stated numbers all follow from its evidence.

    Attributes:
        record: the record; where it stated more than it proves, with the derived numbers instead; where it contradicts
            itself or its run, stating nothing.
        doubts: what was wrong with the record as stored, in words; empty if nothing was.
        reached: the cosine that it proves at the epsilon asked for; None if none was.
    """

    record: Record
    doubts: tuple[str, ...] = ()
    reached: float | None = None


@final
@dataclass(frozen=True)
class ProvedBlock:
    """Some records in their order, and the evidence of those that were checked together.

    Attributes:
        members: the records and failures.
        families: records alike, by their places among the members; what is in none was checked by itself.
    """

    members: list[ProvedRecord | Failure]
    families: list[Family]


def prove_all(store: Store, epsilon: float | None = None) -> Iterator[ProvedRecord | Failure]:
    """Check a run's records in blocks, in their order; failures pass through.

    Args:
        store: the run.
        epsilon: if given, also say which cosine each record proves there.
    """
    return prove_records(store.unchecked(), store.config, epsilon, name=f" of {store.path}")


def prove_records(
    records: Iterable[Record | Failure], config: RunConfig, epsilon: float | None = None, *, name: str = ""
) -> Iterator[ProvedRecord | Failure]:
    """The same for records of which nobody has looked at the evidence yet; `name` is what errors say after the item."""
    for block in prove_blocks(records, config, epsilon, name=name):
        yield from block.members


def prove_blocks(
    records: Iterable[Record | Failure], config: RunConfig, epsilon: float | None = None, *, name: str = ""
) -> Iterator[ProvedBlock]:
    """The same in blocks, for those who ask more of the evidence."""
    waiting = iter(records)
    while True:
        with uncollected():
            block = _block(list(itertools.islice(waiting, _BLOCK)), config, epsilon, name)
        if not block.members:
            return
        yield block


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Without the collector of cycles, of which there are none: it would look at all records again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _block(block: Sequence[Record | Failure], config: RunConfig, epsilon: float | None, name: str) -> ProvedBlock:
    """Records that are checked together, and then those that take a closer look."""
    families = clear(block, config)
    proved = _cleared(block, families, epsilon)
    left = [at for at, one in enumerate(block) if at not in proved]
    for at in left:
        if isinstance(one := block[at], Record):
            check_evidence(one, f"item {one.item}{name}")
    proved |= dict(zip(left, _prove([block[at] for at in left], config, epsilon), strict=True))
    return ProvedBlock([proved[at] for at in range(len(block))], families)


def _cleared(
    block: Sequence[Record | Failure], families: Sequence[Family], epsilon: float | None
) -> dict[int, ProvedRecord | Failure]:
    """Of a block, by place, those with which nothing is wrong at first sight."""
    proved: dict[int, ProvedRecord | Failure] = {}
    for family in families:
        reached: Sequence[float | None] = [None] * len(family.places)
        if epsilon is not None:
            reached = family.evidence.cosine(np.array([epsilon]))[:, 0].tolist()
        for at, cosine in zip(family.places, reached, strict=True):
            record = block[at]
            assert isinstance(record, Record)
            proved[at] = ProvedRecord(record, reached=cosine)
    return proved


def _prove(
    block: Sequence[Record | Failure], config: RunConfig, epsilon: float | None
) -> Iterator[ProvedRecord | Failure]:
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
            record = _silenced(record, config)
        elif more:
            record = _restated(record, config)
        reached = None if epsilon is None else Certificate(record).cosine(epsilon)
        yield ProvedRecord(record, (*more, *false), reached)


def _restated(record: Record, config: RunConfig) -> Record:
    """The record with what it proves; silent where nothing can be derived."""
    epsilons, cosines = map(float, record.cosine), map(float, record.max_epsilon)
    try:
        return Certificate(record).stating(epsilons, cosines).record
    except (ValueError, ArithmeticError):
        return _silenced(record, config)


def _silenced(record: Record, config: RunConfig) -> Record:
    """The record without anything that it claims: from what contradicts itself, or its run, nothing follows."""
    # True of any field of limit 1; limit, draws and alpha as stored may be numbers from which nothing can be computed.
    facts = (Length(lower=0.0, sampled=0.0), Spread(eigenvalue=1.0), Closeness(radius=2.0, attacked_alpha=0.5))
    return msgspec.structs.replace(
        record,
        bound=msgspec.structs.replace(record.bound, limit=1.0),
        draws=max(record.draws, 2),
        alpha=record.alpha if 0 < record.alpha < 1 else config.alpha,
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


def _honest(records: Sequence[Record]) -> list[bool]:
    """Which records state no more than they prove."""
    families: dict[object, list[int]] = defaultdict(list)
    evidences = [record.evidence() for record in records]
    for place, (record, evidence) in enumerate(zip(records, evidences, strict=True)):
        tables = (record.cosine, record.visible_cosine, record.max_epsilon, record.max_visible_epsilon)
        families[evidence.family, tuple(tuple(table) for table in tables)].append(place)
    honest = [False] * len(records)
    for places in families.values():
        fine = _all_proved([evidences[place] for place in places], [records[place] for place in places])
        for place, one in zip(places, fine, strict=True):
            honest[place] = one
    return honest


def _all_proved(evidences: Sequence[Evidence], records: Sequence[Record]) -> list[bool]:
    """The same for records of one family; one from which nothing can be derived does not take the others with it."""
    try:
        return [bool(one) for one in all_proved(Evidence.stack(evidences), records)]
    except (ValueError, ArithmeticError):
        if len(records) == 1:
            return [False]
        return [fine for one in zip(evidences, records, strict=True) for fine in _all_proved(one[:1], one[1:])]
