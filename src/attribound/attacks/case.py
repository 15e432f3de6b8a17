"""Cases: violations stored so that anybody can replay them, whatever model, data and method they are about."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import msgspec
import torch
from msgspec import Struct

from attribound.attacks.base import AttackResult
from attribound.attacks.score import Score, rescore
from attribound.certificates.certificate import Certificate
from attribound.certificates.finding import Finding
from attribound.certificates.record import MapRecord, Record, decode, encode
from attribound.certification.reopen import Opened
from attribound.errors import StoredDataError
from attribound.files import read_text, write_whole

REPLAY_SAMPLES, REPLAY_SEED = 16384, 1


class _Stored(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    kind: str
    record: dict[str, Any]
    finding: Finding
    delta: MapRecord


@final
@dataclass(frozen=True)
class Case:
    """A certificate, what an attack found, and the change itself."""

    certificate: Certificate
    finding: Finding
    delta: torch.Tensor


@final
@dataclass(frozen=True)
class Replay:
    """A case scored again with fresh noise.

    Attributes:
        certified: the certified cosine.
        epsilon: the certified budget.
        length: size of the stored change.
        score: cosines now.
    """

    certified: float
    epsilon: float
    length: float
    score: Score

    @property
    def violated(self) -> bool:
        """Whether a change within the budget brings the exact cosine below the certified one, beyond all chance."""
        return self.score.cosine_most < self.certified and self.length <= self.epsilon

    def row(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "certified": self.certified,
            "epsilon": self.epsilon,
            "length": self.length,
            "cosine": self.score.cosine,
            "cosine_most": self.score.cosine_most,
            "violated": self.violated,
        }


def save_case(path: Path, certificate: Certificate, finding: Finding, worst: AttackResult) -> None:
    """Store a violation: the certificate with its subject, the finding and the change."""
    stored = {
        "kind": "attribound case",
        "record": json.loads(encode(certificate.record)),
        "finding": msgspec.to_builtins(finding),
        "delta": msgspec.to_builtins(MapRecord.of(worst.delta.detach().cpu().double().numpy())),
    }
    write_whole(path, json.dumps(stored, indent=1) + "\n")


def load_case(path: Path) -> Case:
    """Read a stored case; nothing in it is executed."""
    text = read_text(path)
    try:
        stored = msgspec.json.decode(text, type=_Stored)
        values = torch.from_numpy(stored.delta.values())
    except (msgspec.MsgspecError, ValueError, TypeError) as error:
        raise StoredDataError(f"{path} is not a stored case: {' '.join(str(error).split())}") from None
    record = decode(json.dumps(stored.record), str(path))
    if not isinstance(record, Record):
        raise StoredDataError(f"{path} is not a stored case: it holds the record of a failure")
    return Case(Certificate(record), stored.finding, values)


def replay(case: Case, opened: Opened, *, samples: int = REPLAY_SAMPLES, seed: int = REPLAY_SEED) -> Replay:
    """Score a case again on the subject that it is about."""
    certificate = case.certificate
    family = opened.family(certificate.target)
    if case.delta.shape != family.origin.shape:
        raise StoredDataError(
            f"the case holds a change of shape {tuple(case.delta.shape)} for parameters {tuple(family.origin.shape)}"
        )
    changed = family.at(case.delta.to(family.origin))
    length = certificate.evidence.budget.size(changed.shift.cpu().numpy())
    score = rescore(family, changed, opened.noise, samples, seed)
    # The claim is derived anew: a stored cosine is only a number.
    return Replay(certificate.cosine(case.finding.epsilon), case.finding.epsilon, length, score)
