"""The audit: set every certified number beside the worst that attackers found, and stop loudly at a violation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

from torch import Tensor

from attribound.attacks.base import Attack, AttackResult, Problem, make_problem
from attribound.certificates.certificate import Certificate
from attribound.certificates.finding import LARGEST_FACTOR, Finding
from attribound.certification.arguments import check_field
from attribound.certification.reopen import together_of
from attribound.errors import ArgumentError, UnfitError
from attribound.fields.base import Field, innermost
from attribound.fields.precision import in_precision
from attribound.hashes import input_hash, model_hash
from attribound.noise import NoiseOf
from attribound.sampling.along import family_of

Say = Callable[[str], None]

_BISECTIONS = 4


@final
@dataclass(frozen=True)
class Challenge:
    """What an audit gives: the finding, as it is stored, and the attack behind it."""

    finding: Finding
    worst: AttackResult


def challenge(
    certificate: Certificate,
    field: Field,
    x: Tensor,
    attacks: Sequence[Attack],
    *,
    cosine: float = 0.8,
    seed: int = 0,
    measure_tightness: bool = True,
    progress: Say = lambda message: None,
) -> Challenge:
    """Attack what a certificate claims at `cosine` with every method, and measure how tight the claim is.

    Args:
        certificate: what is audited; its largest epsilon for `cosine` is the claim.
        field: the certified field.
        x: the certified input.
        attacks: the methods, with their options; those that do not fit the model are skipped, and the finding says so.
        cosine: wanted cosine.
        seed: seed of the attacks; noise is independent of the certificate's.
        measure_tightness: also search, by bisection, for the smallest epsilon at which an attack reaches `cosine`;
            with one start per method.
        progress: called with a line about what is being done.
    """
    record = certificate.record
    field = in_precision(check_field(field), record.subject.precision)
    if (model_hash(innermost(field).model), input_hash(x)) != (record.model_sha256, record.input_sha256):
        raise ArgumentError("expected the model and the input that were certified: their hashes differ")
    family = family_of(field, certificate.target, x.detach(), together_of(record.subject))
    start = max(certificate.max_epsilon(cosine), 1e-3 * certificate.law.value)
    noise = NoiseOf(type(certificate.law), certificate.law.value, certificate.evidence.budget)
    problem = make_problem(family, noise, start, seed=seed)
    fitting, skipped = _fitting(problem, attacks, progress)
    worst = _worst(problem, fitting, seed, progress)
    finding = Finding(
        item=certificate.item,
        epsilon=start,
        certified=certificate.cosine(start),
        worst=worst.cosine,
        worst_most=worst.score.cosine_most,
        length=worst.length,
        method=worst.method,
        broken_at=_broken_at(problem, fitting, cosine, seed, progress) if measure_tightness else None,
        label_kept=worst.label_kept,
        assumed=certificate.assumed,
        seed=seed,
        skipped=skipped,
        settings=settings_of(attacks, cosine, seed, measure_tightness),
    )
    return Challenge(finding, worst)


def settings_of(attacks: Sequence[Attack], cosine: float, seed: int, tightness: bool) -> dict[str, Any]:
    """How hard is tried: an audit with the same settings need not be repeated."""
    return {"attacks": [repr(one) for one in attacks], "cosine": cosine, "seed": seed, "tightness": tightness}


def _fitting(problem: Problem, attacks: Sequence[Attack], progress: Say) -> tuple[list[Attack], dict[str, str]]:
    fitting, skipped = list[Attack](), dict[str, str]()
    for one in attacks:
        try:
            one.prepare(problem)
        except UnfitError as error:
            skipped[one.name] = str(error)
            progress(f"{one.name} is skipped: {error}")
        else:
            fitting.append(one)
    if not fitting:
        raise UnfitError(f"no attack fits: {'; '.join(skipped.values())}")
    return fitting, skipped


def _worst(problem: Problem, attacks: Sequence[Attack], seed: int, progress: Say) -> AttackResult:
    results: list[AttackResult] = []
    for one in attacks:
        progress(f"{one.name} at epsilon {problem.epsilon:.3g}")
        results.append(one.run(problem, seed))
    return min(results, key=lambda result: result.cosine)


def _broken_at(problem: Problem, attacks: Sequence[Attack], cosine: float, seed: int, progress: Say) -> float | None:
    """Double epsilon until an attack reaches the cosine, then bisect; a change found counts at its own length.

    Every method starts once.
    """
    attacks = [replace(one, restarts=1) for one in attacks]
    low, high, broken = problem.epsilon, problem.epsilon, None
    while broken is None and high < LARGEST_FACTOR * problem.epsilon:
        low, high = high, 2 * high
        broken = _reaches(replace(problem, epsilon=high), attacks, cosine, seed, progress)
    for _ in range(_BISECTIONS if broken is not None else 0):
        assert broken is not None
        middle = (low + min(high, broken)) / 2
        reached = _reaches(replace(problem, epsilon=middle), attacks, cosine, seed, progress)
        low, high, broken = (low, middle, min(reached, broken)) if reached is not None else (middle, high, broken)
    return broken


def _reaches(problem: Problem, attacks: Sequence[Attack], cosine: float, seed: int, progress: Say) -> float | None:
    """Length of a change that brings the cosine to the wanted value or below; None if no attack finds one."""
    result = _worst(problem, attacks, seed, progress)
    return result.length if result.cosine <= cosine else None
