"""The audit: set every certified number beside the worst that attackers found, and stop loudly at a violation."""

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from attribound.attacks.base import Attack, AttackResult, Problem, make_problem, with_epsilon
from attribound.attacks.score import rescore
from attribound.certificate import Certificate
from attribound.certification import check_field, input_hash, model_hash
from attribound.errors import ArgumentError, StoredDataError
from attribound.fields.base import Field
from attribound.noise import make_noise

Progress = Callable[[str], None]

_BISECTIONS = 4
_LARGEST_FACTOR = 8.0


@final
@dataclass(frozen=True)
class Finding:
    """One certified claim and what became of it.

    Attributes:
        item: number of the input.
        epsilon: the certified budget.
        certified: the certified cosine at that budget.
        worst: the attack that brought the cosine lowest.
        broken_at: smallest epsilon at which an attack was seen to reach the certified cosine; None if none did.
        assumed: the limit is only assumed, so what is called certified here is not a certificate.
    """

    item: int
    epsilon: float
    certified: float
    worst: AttackResult
    broken_at: float | None
    assumed: bool = False

    @property
    def gap(self) -> float:
        """Worst cosine found minus certified cosine: what lies between proved and broken."""
        return self.worst.cosine - self.certified

    @property
    def tightness(self) -> float | None:
        """Certified epsilon / smallest epsilon at which an attack reaches that cosine; 1 would be perfect."""
        return None if self.broken_at is None else self.epsilon / self.broken_at

    @property
    def violated(self) -> bool:
        """Whether a change within the budget brings the exact cosine below the certified one, beyond all chance."""
        return self.worst.score.cosine_most < self.certified and self.worst.length <= self.epsilon

    def row(self) -> dict[str, Any]:
        """The finding as plain JSON values."""
        return {
            "item": self.item,
            "epsilon": self.epsilon,
            "certified": self.certified,
            "worst": self.worst.cosine,
            "method": self.worst.method,
            "gap": self.gap,
            "tightness": self.tightness,
            "violated": self.violated,
            "assumed": self.assumed,
            "seed": self.worst.seed,
        }


def audit(
    certificate: Certificate,
    field: Field,
    x: Tensor,
    attacks: Sequence[Attack],
    *,
    cosine: float = 0.8,
    seed: int = 0,
    measure_tightness: bool = True,
    progress: Progress = lambda message: None,
) -> Finding:
    """Attack what a certificate claims at `cosine` with every method, and measure how tight the claim is.

    Args:
        certificate: what is audited; its largest epsilon for `cosine` is the claim.
        field: the certified field.
        x: the certified input.
        attacks: the methods, with their options.
        cosine: wanted cosine.
        seed: seed of the attacks; noise is independent of the certificate's.
        measure_tightness: also search, by bisection, for the smallest epsilon at which an attack reaches `cosine`;
            with one start per method.
        progress: called with a line about what is being done.
    """
    if (model_hash(check_field(field).model), input_hash(x)) != (certificate.model_sha256, certificate.input_sha256):
        raise ArgumentError("expected the model and the input that were certified: their hashes differ")
    noise = make_noise(certificate.evidence.noise_kind, certificate.evidence.scale)
    epsilon = certificate.max_epsilon(cosine)
    start = max(epsilon, 1e-3 * certificate.evidence.scale)
    problem = make_problem(field, x, certificate.target, noise, start, seed=seed)
    worst = _worst(problem, attacks, seed, progress)
    single = [replace(one, restarts=1) for one in attacks]
    broken = _broken_at(problem, single, cosine, seed, progress) if measure_tightness else None
    return Finding(certificate.item, start, certificate.cosine(start), worst, broken, certificate.assumed)


def _worst(problem: Problem, attacks: Sequence[Attack], seed: int, progress: Progress) -> AttackResult:
    results: list[AttackResult] = []
    for one in attacks:
        progress(f"{one.name} at epsilon {problem.epsilon:.3g}")
        results.append(one.run(problem, seed))
    return min(results, key=lambda result: result.cosine)


def _broken_at(
    problem: Problem, attacks: Sequence[Attack], cosine: float, seed: int, progress: Progress
) -> float | None:
    """Double epsilon until an attack reaches the cosine, then bisect; a change found counts at its own length."""
    low, high, broken = problem.epsilon, problem.epsilon, None
    while broken is None and high < _LARGEST_FACTOR * problem.epsilon:
        low, high = high, 2 * high
        broken = _reaches(with_epsilon(problem, high), attacks, cosine, seed, progress)
    for _ in range(_BISECTIONS if broken is not None else 0):
        assert broken is not None
        middle = (low + min(high, broken)) / 2
        found = _reaches(with_epsilon(problem, middle), attacks, cosine, seed, progress)
        low, high, broken = (low, middle, min(found, broken)) if found is not None else (middle, high, broken)
    return broken


def _reaches(problem: Problem, attacks: Sequence[Attack], cosine: float, seed: int, progress: Progress) -> float | None:
    """Length of a change that brings the cosine to the wanted value or below; None if no attack finds one."""
    result = _worst(problem, attacks, seed, progress)
    return result.length if result.cosine <= cosine else None


def save_case(path: Path, finding: Finding, certificate: Certificate) -> None:
    """Store a violation so that anybody can replay it: the certificate's evidence, the change and the seeds."""
    delta = finding.worst.delta.detach().cpu().double().numpy()
    case = {
        **finding.row(),
        "noise": {"kind": certificate.evidence.noise_kind, "scale": certificate.evidence.scale},
        "target": certificate.target,
        "input_sha256": certificate.input_sha256,
        "model_sha256": certificate.model_sha256,
        "delta": {"shape": list(delta.shape), "float64": base64.b64encode(delta.astype("<f8").tobytes()).decode()},
    }
    path.write_text(json.dumps(case, indent=1) + "\n", encoding="utf-8")


def replay(path: Path, field: Field, x: Tensor, *, samples: int = 16384, seed: int = 1) -> tuple[float, float, float]:
    """Score a stored case again with fresh noise: certified cosine, cosine now, and the most it can be."""
    try:
        case = json.loads(path.read_text(encoding="utf-8"))
        values = np.frombuffer(base64.b64decode(case["delta"]["float64"], validate=True), "<f8")
        delta = torch.from_numpy(values.reshape(case["delta"]["shape"]).copy()).to(x)
        noise = make_noise(str(case["noise"]["kind"]), float(case["noise"]["scale"]))
        target, certified = int(case["target"]), float(case["certified"])
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise StoredDataError(f"{path} is not a stored case: {error}") from None
    score = rescore(field, x, delta, target, noise, samples, seed)
    return certified, score.cosine, score.cosine_most
