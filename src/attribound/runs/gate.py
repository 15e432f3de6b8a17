"""The gate of a pipeline: are enough inputs of a run certified, and what does that say about all others?"""

import math
from abc import ABC, abstractmethod
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar, final

from attribound import checks as check
from attribound.bounds.gate import false_most, share_lower
from attribound.certificates.explain import FIDELITY, unfaithful
from attribound.certificates.record import Failure, Record, shown_claims
from attribound.certificates.subject import called
from attribound.errors import StoredDataError
from attribound.rounding import exact_text, lower_quantile, percent, round_down
from attribound.runs import remarks
from attribound.runs.config import RunConfig
from attribound.runs.proved import ProvedRecord, prove_all, uncollected
from attribound.runs.remarks import Remark
from attribound.runs.store import Store
from attribound.runs.summary import chance_level

S = TypeVar("S")
Outcome = Literal["certified", "uncertified", "unfaithful", "assumed", "doubtful", "violated", "error", "missing"]
_NAMED = 3
"""How many inputs that are not certified are named on the console."""


@dataclass(frozen=True, kw_only=True)
class Demand(ABC, Generic[S]):
    """What a gate asks of every input of a run, and of how many of them; one class for each kind of run.

    Attributes:
        share: the share of all inputs of which it must be proved.
        confidence: probability with which what is said about the share holds.
        population: whether the share that is *proved* for the population must reach `share`, not only the one counted.
        cosine: the cosine that explanations must keep.
        fidelity: the least cosine of the map shown and the plain map; inputs below it do not count. 0: all count.
    """

    maps: ClassVar[str] = "plain"
    """The stored maps that the chance level is about."""

    share: float
    confidence: float = 0.95
    population: bool = False
    cosine: float = 0.0
    fidelity: float = FIDELITY

    def __post_init__(self) -> None:
        check.fraction("cosine", self.cosine)
        check.fraction("share", self.share)
        check.alpha(self.confidence, "confidence")
        check.fraction("fidelity", self.fidelity)

    @property
    @abstractmethod
    def words(self) -> str:
        """In words."""

    @abstractmethod
    def proved(self, store: Store) -> Iterator[S | Failure]:
        """The records that answer it, one per input."""

    @abstractmethod
    def short_of(self, one: S) -> str:
        """Why what a record proves is not enough; empty if it is."""

    @abstractmethod
    def fitted(self, store: Store) -> Self:
        """The same in the run's words; an error if the run cannot answer it."""

    def violated(self, store: Store) -> dict[int, str]:
        """By item, what an attack broke."""
        return {}

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return dict(vars(self))

    @property
    def level(self) -> float:
        """Failure probability of what is said about the share, never more than asked for."""
        exact = 1 - Decimal(repr(self.confidence))  # 1 - 0.95 in binary is more than 0.05
        nearest = float(exact)
        return nearest if Decimal(nearest) <= exact else math.nextafter(nearest, 0.0)

    @property
    def sure(self) -> str:
        """The confidence in percent, exactly."""
        return f"{(100 * Decimal(repr(self.confidence))).normalize():f} %"


@final
@dataclass(frozen=True, slots=True)  # there may be a million
class GatedInput:
    """One input at the gate: certified, or why not."""

    item: int | None
    outcome: Outcome
    reason: str = ""
    seconds: float = 0.0
    input: str = ""

    @property
    def name(self) -> str:
        """What the case is called."""
        return "inputs without a record" if self.item is None else called(self.item, self.input)


@final
@dataclass(frozen=True)
class Gate:
    """The outcome.

    Attributes:
        name: the run.
        config: what was run.
        asked: what the gate asked for.
        cases: one per record, in the order of their items.
        missing: inputs that the run was asked for and has no record of.
        alpha: the largest failure probability of any certificate.
        chance: the run's chance level, if it is known.
        fidelity: median cosine of smoothed and plain maps, if it is known.
        repeated: records about an input that an earlier record is about.
        claims: what authors state about limits that they say they proved.
    """

    name: str
    config: RunConfig
    asked: Demand[Any]
    cases: Sequence[GatedInput]
    missing: int
    alpha: float
    chance: float | None
    fidelity: float | None
    repeated: int = 0
    claims: Sequence[str] = ()

    @property
    def inputs(self) -> int:
        """All inputs, those without a record too."""
        return len(self.cases) + self.missing

    @property
    def counts(self) -> dict[str, int]:
        """Inputs by outcome."""
        counts = Counter(str(case.outcome) for case in self.cases)
        return dict(counts + Counter(missing=self.missing))

    @property
    def certified(self) -> int:
        """How many are certified."""
        return self.counts.get("certified", 0)

    @property
    def share(self) -> float:
        """The share of all inputs that is certified."""
        return self.certified / self.inputs

    @property
    def true_least(self) -> int:
        """The least number of these inputs that are truly robust, with the confidence asked for."""
        if self.counts.get("violated"):  # an assumption is false, or there is a bug: nothing follows from the others
            return 0
        return max(self.certified - false_most(self.inputs, self.alpha, self.asked.level), 0)

    @property
    def population(self) -> float:
        """So large a share of the population is truly robust, with the confidence asked for."""
        if self.counts.get("violated"):
            return 0.0
        return share_lower(self.certified, self.inputs, self.alpha, self.asked.level)

    @property
    def passed(self) -> bool:
        """Whether enough are certified; a certificate that an attack broke closes the gate."""
        # The share is compared as counts: 9 of 10 are 0.9, whatever 9 / 10 is in binary.
        enough = self.certified >= self.asked.share * self.inputs * (1 - 1e-12)
        if self.asked.population:
            enough = enough and self.population >= self.asked.share
        return enough and not self.counts.get("violated")

    @property
    def sentences(self) -> list[str]:
        """What was found, and what it says, in words."""
        asked, sure = self.asked, self.asked.sure
        word = "passed" if self.passed else "FAILED"
        wanted = f"a share of {exact_text(asked.share)}" + (" of the population" if asked.population else "")
        found = [
            f"{word}: {self._found}; asked for: {wanted}.",
            f"These inputs: at least {self.true_least} of {self.inputs} are truly robust, with confidence {sure}."
            if self.alpha
            else f"These inputs: exact, for each of the {self.certified}; no probability is involved.",
            f"All such inputs: if these are an independent random sample that nothing was chosen by, at least "
            f"{percent(self.population)} of the population they come from are truly robust, with confidence {sure}.",
        ]
        rest = ", ".join(f"{count} {name}" for name, count in self.counts.items() if name != "certified")
        return [*found, *([f"Not certified: {rest}."] if rest else []), *(remark.text for remark in self._remarks())]

    @property
    def lines(self) -> list[str]:
        """The sentences, and the first inputs that are not certified, by name, with the reason."""
        lost = [case for case in self.cases if case.outcome != "certified"]
        named = [f"- {case.name}: {case.reason or case.outcome}" for case in lost[:_NAMED]]
        more = [f"- {len(lost) - _NAMED} more; --json names all"] if len(lost) > _NAMED else []
        return [*self.sentences, *named, *more]

    @property
    def _found(self) -> str:
        """What holds for how many."""
        if self.config.columns is not None:
            return f"for {self.certified} of {self.inputs} rows ({percent(self.share)}) {self.asked.words}"
        return f"{self.certified} of {self.inputs} inputs ({percent(self.share)}) are certified for {self.asked.words}"

    def _remarks(self) -> list[Remark]:
        repeated = f"{self.repeated} record(s) repeat the input of another one, and count again here."
        return [
            *remarks.violated(self.counts.get("violated", 0)),
            *([remarks.what_alpha_means(self.alpha, self.inputs, self.config.simultaneous)] if self.alpha else []),
            *([remarks.what_epsilon_counts(self.config.size)] if self.config.kind == "certify" else []),
            *([Remark(repeated, "warning")] if self.repeated else []),
            *(Remark(f"{claim}.", "warning") for claim in self.claims),
            *remarks.cautions_about([self.asked.cosine], self.chance, self.fidelity),
        ]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "run": self.name,
            "passed": self.passed,
            "asked": self.asked.to_json(),
            "inputs": self.inputs,
            "certified": self.certified,
            "share": self.share,
            "counts": self.counts,
            "alpha": self.alpha,
            "true_least": self.true_least,
            "population_share_lower": self.population,
            "chance": self.chance,
            "fidelity": self.fidelity,
            "repeated": self.repeated,
            "claims": list(self.claims),
            "sentences": self.sentences,
            "not_certified": [
                {"item": case.item, "input": case.input, "outcome": case.outcome, "reason": case.reason}
                for case in self.cases
                if case.outcome != "certified"
            ],
        }


def judge(path: Path, asked: Demand[Any]) -> Gate:
    """Ask of every input of a run whether enough is proved; what is doubtful in any way is not."""
    with Store.read_any(path) as store, uncollected():
        config, wanted, asked = store.config, store.recall("inputs"), asked.fitted(store)
        violated, cases, inputs = asked.violated(store), list[GatedInput](), Counter[str]()
        fidelities, claims = array("d"), dict[str, None]()
        alpha = config.alpha if config.kind == "certify" else 0.0
        for one in asked.proved(store):
            cases.append(_case(one, asked, violated))
            if isinstance(one, Failure):
                continue
            inputs[one.record.input_sha256] += 1
            alpha = max(alpha, one.record.alpha)
            fidelities.extend([] if one.record.fidelity is None else [one.record.fidelity])
            if isinstance(one.record, Record) and one.record.bound.claim:
                claims[one.record.bound.claim] = None
        # What a run says of itself can be lowered as easily as records are deleted: its configuration counts too.
        expected = max(wanted if isinstance(wanted, int) else 0, config.items or 0)
        if not cases and not expected:
            raise StoredDataError(f"{path} has no records, so there is nothing to judge")
        return Gate(
            name=path.name,
            config=config,
            asked=asked,
            cases=cases,
            missing=max(expected - len(cases), 0),
            alpha=alpha,
            chance=chance_level(store, name=asked.maps),
            fidelity=lower_quantile(fidelities, 0.5) if fidelities else None,
            repeated=inputs.total() - len(inputs),
            claims=shown_claims(claims),
        )


def _case(one: Any, asked: Demand[Any], violated: Mapping[int, str]) -> GatedInput:
    if isinstance(one, Failure):
        return GatedInput(one.item, "error", one.message, one.seconds, one.input)
    record, short = one.record, asked.short_of(one)
    outcome: Outcome = "certified"
    reason = ""
    if record.item in violated:
        outcome, reason = "violated", violated[record.item]
    elif one.doubts:
        outcome, reason = "doubtful", "; ".join(one.doubts)
    elif short:
        outcome, reason = "uncertified", short
    elif (record.bound.kind if isinstance(record, Record) else record.proof) == "assumed":
        outcome, reason = "assumed", "the limit is ASSUMED: this is not a certificate"
    elif warning := unfaithful(record.fidelity, asked.fidelity):
        outcome, reason = "unfaithful", warning
    return GatedInput(record.item, outcome, reason, record.seconds, record.subject.input)


@final
@dataclass(frozen=True, kw_only=True)
class Asked(Demand[ProvedRecord]):
    """What a gate asks of certificates: a cosine under every change up to the size `epsilon`."""

    maps = "smoothed"

    cosine: float
    epsilon: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check.non_negative("epsilon", self.epsilon)

    @property
    def words(self) -> str:
        """In words."""
        return f"cosine {exact_text(self.cosine)} at epsilon {exact_text(self.epsilon)}"

    def fitted(self, store: Store) -> "Asked":
        """As it is."""
        store.check_certificates()
        return self

    def proved(self, store: Store) -> Iterator[ProvedRecord | Failure]:
        """All records."""
        return prove_all(store, self.epsilon)

    def short_of(self, one: ProvedRecord) -> str:
        """The cosine that is certified instead."""
        reached = one.reached
        assert reached is not None
        if reached >= self.cosine:
            return ""
        known = f"only cosine {round_down(reached)} is" if reached > 0 else "nothing is"
        return f"{known} certified at epsilon {exact_text(self.epsilon)}, asked for: {exact_text(self.cosine)}"

    def violated(self, store: Store) -> dict[int, str]:
        """Certificates that an attack broke."""
        why = "an attack turned the explanation further than certified"
        return {one.item: why for one in store.findings().values() if one.violated}
