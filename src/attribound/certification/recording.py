"""What a certificate is asked about one explanation, and the record of what was found."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import final

import msgspec
import torch
from torch import Tensor

from attribound.bounds.facts import Closeness, Length, Spread
from attribound.certificates.record import BoundRecord, NoiseRecord, Record
from attribound.certificates.statements.base import Statement
from attribound.certificates.subject import Subject
from attribound.certification.request import recorded
from attribound.fields.bounded import Bounded, bounded
from attribound.fields.families import Around
from attribound.fields.relative import packed_reference
from attribound.fields.reshaped import shapes
from attribound.hashes import input_hash
from attribound.metrics import cosine_similarity
from attribound.sampling.along import Along
from attribound.sampling.draws import AtPoint
from attribound.sampling.plan import Estimate, Plan


@final
@dataclass(frozen=True, kw_only=True)
class Request:
    """One explanation and what is asked about it, checked.

    Attributes:
        family: the maps around the input, or after changes.
        design: where they are drawn.
        plan: samples, alpha and when to stop.
        statements: what the certificate says.
        epsilons: the record states the certified cosine at these.
        cosines: the record states the largest certified epsilon at these.
        subject: how model and data were named, with the model's hash.
        features: names of the map's cells, if they have any.
        plain: the plain map.
        prediction: the model's class for the input.
        label: the true class, where known.
    """

    family: Around | Along
    design: AtPoint
    plan: Plan
    statements: Sequence[Statement]
    epsilons: tuple[float, ...]
    cosines: tuple[float, ...]
    subject: Subject
    features: tuple[str, ...]
    plain: Tensor
    prediction: int
    label: int | None

    @property
    def field(self) -> Bounded:
        """The field that is certified."""
        return bounded(self.family.field)


def record_of(request: Request, found: Estimate) -> Record:
    """The record of an estimate; the statements' answers are still to be written into it."""
    family, design, plan, field = request.family, request.design, request.plan, request.field
    law, length, subject = found.evidence.law, found.evidence.fact(Length), _subject(request)
    record = Record(
        item=design.item,
        label=request.label,
        target=family.target,
        prediction=request.prediction,
        dim=family.origin.numel(),
        noise=NoiseRecord(law.kind, law.radius, law.sigma, design.noise.budget.units),
        attribution=field.name,
        maps=subject.maps,
        output=field.output,
        bound=BoundRecord(field.kind, field.limit, field.source),  # type: ignore[arg-type]
        samples=found.samples,
        draws=found.draws,
        alpha=plan.alpha,
        seed=design.seed,
        norm=float(length.sampled),
        norm_lower=float(length.lower),
        eigenvalue_upper=float(found.evidence.fact(Spread).eigenvalue),
        map_radius=float(found.evidence.fact(Closeness).radius),
        facts={kind.name: fact.to_json() for kind, fact in found.evidence.facts.items()},
        fidelity=_fidelity(request.plain, found.map),
        stopped=found.stopped,
        budget=plan.samples,
        until=recorded(plan.until),
        map_shape=tuple(found.map.shape),
        features=request.features or msgspec.UNSET,
        seconds=found.seconds,
        versions={"attribound": version("attribound"), "torch": str(torch.__version__), **family.versions},
        model_sha256=subject.model_sha256,
        input_sha256=subject.input_sha256,
        subject=subject,
    )
    return record.knowing(found.evidence)


def _subject(request: Request) -> Subject:
    family, design, field = request.family, request.design, request.field
    budget = family.budget(design.noise)
    return msgspec.structs.replace(
        request.subject,
        item=design.item,
        input_sha256=input_hash(family.x),
        attribution=field.name,
        maps=shapes(field, budget.units),
        reference=packed_reference(field) or msgspec.UNSET,
        output=field.output,
        precision=field.precision,
        bound=field.spec,
        noise=design.noise.law(family.origin.numel()).spec,
        units=budget.units,
        changes=budget.changes or msgspec.UNSET,
        seed=design.seed,
    )


def _fidelity(plain: Tensor, smoothed: Tensor) -> float | None:
    """Cosine of plain and smoothed map; None if one of them is empty, for then it shows nothing."""
    if not (bool(plain.any()) and bool(smoothed.any())):
        return None
    return float(cosine_similarity(plain[None], smoothed[None]))
