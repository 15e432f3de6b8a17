"""Records: the one typed form in which results are stored, built and parsed here and nowhere else.

A record holds evidence (noise, limit, facts) and states answers. Answers are derived anew wherever they matter; the
stated ones are for readers without this library. The seal finds accidents, not forgers: anyone who can
write a seal can write a false one, and `verify --model`, which samples again, finds that out.
"""

import base64
import binascii
import hashlib
import math
from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import UNSET, Struct, UnsetType

from attribound import checks as check
from attribound.bounds.budgets import Budget
from attribound.bounds.evidence import Evidence
from attribound.bounds.laws import LAWS, Law
from attribound.bounds.registry import FACTS
from attribound.certificates.answers import CellTally, StatedReason
from attribound.certificates.sealed import WRONG, encode_sealed, no_record, seal_of
from attribound.certificates.strict import strict_json
from attribound.certificates.subject import Subject
from attribound.checks import FloatArray
from attribound.rounding import exact_text
from attribound.sanitise import printable

FORMAT = 3
READERS = {1: "0.1", 2: "0.2"}
"""Which version of attribound reads an older format."""


def newer(version: Any) -> str:
    """The end of a message about a format that is not known yet."""
    known = not isinstance(version, int) or isinstance(version, bool) or version <= FORMAT
    return "" if known else ": a newer attribound made it, pip install --upgrade attribound"


Status = Literal["certified", "assumed", "uncertified"]
MOST_NUMBERS = 50_000_000
"""A stored map never has more values than this: a small file may not unpack into all memory."""


PROVED_BY = "proved by its author, who states: "
_CLAIMS = 3
"""More reasons than this are not shown: an honest run has one."""


def shown_claims(claims: Iterable[str]) -> list[str]:
    """The first few of different claims, and how many more there are."""
    known = list(claims)
    more = [f"{len(known) - _CLAIMS} more limits are stated to be proved, for other reasons"]
    return known[:_CLAIMS] + (more if len(known) > _CLAIMS else [])


class NoiseRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """The noise: kind, and both its radius and its sigma per feature; units per feature where there are any."""

    kind: str
    radius: float
    sigma: float
    units: tuple[float, ...] | None = None


class BoundRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """The limit and how it is known."""

    kind: Literal["unit", "clip", "proved", "assumed"]
    limit: float
    source: str

    @property
    def spec(self) -> str:
        """The bound as people type it."""
        return self.kind if self.kind == "unit" else f"{self.kind}:{self.limit!r}"

    @property
    def claim(self) -> str:
        """What no draws can check: a limit that its author says is proved, and the reason given; else empty."""
        if self.kind != "proved":
            return ""
        reason = printable(self.source.removeprefix(PROVED_BY)) or "nothing"
        return f"The limit {self.limit:g} is {PROVED_BY}{reason} (no sampling can check this)"


class TopKRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """A question about the k largest cells, after changes up to epsilon."""

    top_k: int
    epsilon: float


class MapRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """A map: its shape and its values, float64, little-endian, in base64."""

    shape: tuple[int, ...]
    float64: str

    @classmethod
    def of(cls, values: FloatArray) -> "MapRecord":
        """Pack a map."""
        return cls(tuple(values.shape), base64.b64encode(np.ascontiguousarray(values, "<f8").tobytes()).decode())

    def values(self) -> FloatArray:
        """The map; a ValueError if it is none."""
        count = math.prod(self.shape)
        if not 0 < count <= MOST_NUMBERS or min(self.shape, default=0) < 1:
            raise ValueError(f"a map of shape {self.shape}")
        if len(self.float64) != 4 * -(-8 * count // 3):
            raise ValueError(f"a map whose values do not fill its shape {self.shape}")
        try:
            found = np.frombuffer(base64.b64decode(self.float64, validate=True), "<f8").reshape(self.shape)
        except binascii.Error:
            raise ValueError("a map that is not base64") from None
        if not np.isfinite(found).all():
            raise ValueError("a map with NaN or infinity in it")
        return found.astype(np.float64)


class Record(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """What is known and stated about one input; what is unset leaves no trace in a file, nor in its seal."""

    format: int = FORMAT
    item: int
    label: int | None = None
    target: int
    prediction: int
    dim: int
    noise: NoiseRecord
    attribution: str
    maps: tuple[str, ...] = ()
    output: Literal["logit", "probability"]
    bound: BoundRecord
    samples: int
    draws: int
    alpha: float
    seed: int
    norm: float
    norm_lower: float
    eigenvalue_upper: float
    map_radius: float
    facts: dict[str, dict[str, Any]]
    fidelity: float | None = None
    status: Status = "uncertified"
    reason: str = ""
    rule: str | None = None
    stopped: Literal["budget", "proved", "futile"] = "budget"
    budget: int
    until: tuple[float, float] | TopKRecord | None = None
    cosine: dict[str, float] = {}
    visible_cosine: dict[str, float] = {}
    max_epsilon: dict[str, float] = {}
    max_visible_epsilon: dict[str, float] = {}
    prediction_radius: float | None = None
    joint_epsilon: dict[str, float] = {}
    cells: dict[str, dict[str, CellTally]] = {}
    map_shape: tuple[int, ...] = ()
    map_sha256: str | UnsetType = UNSET
    features: tuple[str, ...] | UnsetType = UNSET
    reasons: tuple[StatedReason, ...] | UnsetType = UNSET
    answers: dict[str, dict[str, Any]] | UnsetType = UNSET
    seconds: float
    versions: dict[str, str]
    model_sha256: str
    input_sha256: str
    subject: Subject
    accuracy_noisy: float | None = None
    map: MapRecord | None = None
    seal: str = ""

    def evidence(self) -> Evidence:
        """What the record's answers follow from; a ValueError if its parts do not fit."""
        return self._evidence

    def knowing(self, evidence: Evidence) -> "Record":
        """The same record, made from this evidence, which need not be read again."""
        self.__dict__["_evidence"] = evidence
        return self

    @cached_property
    def _evidence(self) -> Evidence:
        """Read once: a record is checked, proved and drawn from the same evidence."""
        law_type = LAWS.get(self.noise.kind)
        check.dimension(self.dim)
        if law_type is None:
            raise ValueError(f"noise {self.noise.kind!r}, expected {' or '.join(LAWS)}")
        budget = _budget(self.noise.units, self.subject.changes or ())
        law = _law(law_type, budget.dim(self.dim), getattr(self.noise, law_type.parameter))
        if unknown := sorted(name for name in self.facts if name not in FACTS):
            raise ValueError(f"unknown facts {', '.join(unknown)}")
        facts = [FACTS[name].from_json(stored) for name, stored in self.facts.items()]
        return Evidence.of(law, self.bound.limit, *facts, budget=budget)

    @cached_property
    def sealed(self) -> bool:
        """Whether the seal fits everything else."""
        return self.seal == seal_of(self)

    @property
    def stated_reasons(self) -> tuple[StatedReason, ...]:
        """The reasons it states, if any."""
        return () if self.reasons is UNSET else self.reasons

    @property
    def stated_answers(self) -> dict[str, dict[str, Any]]:
        """Answers of statements without keys of their own, by the statement's name."""
        return {} if self.answers is UNSET else self.answers

    @property
    def block(self) -> int:
        """Rows behind each draw."""
        return max(self.samples // max(self.draws, 1), 1)


@lru_cache(maxsize=64)
def _law(kind: type[Law], dim: int, value: float) -> Law:
    """The law of a record; the records of a run share it."""
    return kind(dim, value)


@lru_cache(maxsize=64)
def _budget(units: tuple[float, ...] | None, changes: tuple[str, ...]) -> Budget:
    """The budget of a record, shared likewise."""
    return Budget(units, changes)


class Failure(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known about an input that could not be certified because something went wrong."""

    format: int = FORMAT
    item: int
    part: str = ""
    """Of what is said about the input, the part that went wrong; empty if there are no parts."""
    label: int | None = None
    input: str = ""
    """What people call the input; empty if it has no name."""
    status: Literal["error"] = "error"
    message: str
    seconds: float = 0.0
    passing: bool = False
    """Whether the reason may be gone next time (a worker that died, out of memory): then a resumed run tries again."""


_RECORDS, _FAILURES, _ENCODER = msgspec.json.Decoder(Record), msgspec.json.Decoder(Failure), msgspec.json.Encoder()


def encode(record: Record | Failure) -> bytes:
    """The record as JSON, sealed; numbers keep every digit."""
    return msgspec.json.encode(record) if isinstance(record, Failure) else encode_sealed(record)


def map_hash(values: FloatArray) -> str:
    """SHA-256 over a map's values in float32, as runs keep them."""
    with np.errstate(over="ignore"):  # a forged number beyond float32 has a hash too: not this one
        return hashlib.sha256(np.ascontiguousarray(values, "<f4").tobytes()).hexdigest()


def decode(text: str | bytes, name: str) -> Record | Failure:
    """The record in a stored text; whatever is wrong with it is one StoredDataError that names the file.

    Duplicate keys are refused, also those that differ as texts but not as numbers ("0.8" and "0.80").
    """
    record = parse(text, name)
    if isinstance(record, Record):
        check_evidence(record, name)
    return record


def parse(text: str | bytes, name: str) -> Record | Failure:
    """`decode` without a look at the evidence, of which there may be none: for those who check many records at once."""
    try:
        if (canonical := _canonical(text)) is not None:
            return canonical
        stored = read_json(text)
        kind: type[Record | Failure] = Failure if stored.get("status") == "error" else Record
        return msgspec.convert(stored, kind, strict=True)
    except WRONG as error:
        raise no_record(name, error) from None


def check_evidence(record: Record, name: str) -> None:
    """Raise a StoredDataError for evidence that is none, and for answers to questions that cannot be asked."""
    try:
        record.evidence()
        check_keys(record)
    except WRONG as error:
        raise no_record(name, error) from None


def read_json(text: str | bytes) -> Any:
    """The object of this format in a stored text; a ValueError for keys that stand twice and for infinite numbers."""
    stored = strict_json(text)
    _check_format(stored)
    return stored


def _canonical(text: str | bytes) -> Record | Failure | None:
    """A record exactly as `encode` writes it, twenty times faster; None: something is unusual, look closely."""
    data = text.encode() if isinstance(text, str) else text
    try:
        record: Record | Failure = (_FAILURES if b'"status":"error"' in data else _RECORDS).decode(data)
        if record.format != FORMAT or _ENCODER.encode(record) != data:
            return None
    except (msgspec.MsgspecError, ValueError):
        return None
    if isinstance(record, Record) and record.seal.isalnum():  # nothing in it is escaped: the text ends with it as it is
        bare = hashlib.sha256(memoryview(data)[: -len(record.seal) - 2])
        bare.update(b'"}')
        record.__dict__["sealed"] = record.seal == bare.hexdigest()
    return record


def _check_format(stored: Any) -> None:
    if not isinstance(stored, dict):
        raise ValueError("expected a JSON object")
    version = stored.get("format")
    if version in READERS:
        raise ValueError(
            f"it has format {version}, which attribound {READERS[version]} reads; this version reads {FORMAT}"
        )
    if version is None:
        raise ValueError("it states no format")
    if version != FORMAT:
        raise ValueError(f"it has format {version!r}, expected {FORMAT}{newer(version)}")


def check_keys(record: Record) -> None:
    """Raise a ValueError for answers to questions that cannot be asked."""
    by_epsilon = [*record.cosine, *record.visible_cosine, *(key for table in record.cells.values() for key in table)]
    by_share = [*record.max_epsilon, *record.max_visible_epsilon, *record.joint_epsilon, *record.cells]
    for keys, most in ((by_epsilon, math.inf), (by_share, 1.0)):
        for key in keys:
            number = float(key)
            if not (0 <= number <= most and math.isfinite(number)):
                raise ValueError(f"the key {key!r} is not a number that can be asked for")
            if exact_text(number) != key:
                raise ValueError(f"the key {key!r} is not written as {exact_text(number)!r}")
