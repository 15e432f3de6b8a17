"""Certify explanations: the public edge, where arguments are checked once."""

import warnings
from collections.abc import Sequence
from importlib.metadata import version
from typing import final

import msgspec
import torch
from torch import Tensor

from attribound import checks as check
from attribound.bounds.cells import hot_cells
from attribound.bounds.facts import Closeness, Length, Spread
from attribound.certificates.arguments import (
    Target,
    Targets,
    check_batch,
    check_field,
    check_input,
    check_noise,
    check_target,
    class_names,
    each_target,
    look_at,
)
from attribound.certificates.asked import Until, asked, fractions_of, names_of, question_of, reasons_of, recorded
from attribound.certificates.certificate import COSINES, EPSILONS, Certificate
from attribound.certificates.record import BoundRecord, NoiseRecord, Record
from attribound.certificates.subject import Subject
from attribound.certificates.suspicions import Returned, bright_pixels, check_columns, check_returned, returned_by
from attribound.errors import AttriboundWarning
from attribound.fields.base import Field
from attribound.fields.bounded import Bounded
from attribound.fields.rows import independent, probe_rows
from attribound.hashes import input_bytes, input_hash, model_hash
from attribound.metrics import cosine_similarity
from attribound.noise import Noise
from attribound.progress import Wanted, meter, part
from attribound.randomness import Purpose, seed_from, stream
from attribound.sampling import Estimate, Plan, Source, TopK, default_statistics, estimate
from attribound.threads import limited


@final
class Certifier:
    """Certifies explanations of one model, one input at a time; what is the same for all inputs is done once."""

    def __init__(
        self,
        field: Field,
        *,
        noise: Noise,
        samples: int = 4096,
        alpha: float = 1e-3,
        until: Until = None,
        cells: Sequence[float] = (),
        reasons: int = 0,
        intervals: bool = False,
        batch: int | None = None,
        epsilons: Sequence[float] = EPSILONS,
        cosines: Sequence[float] = COSINES,
        features: Sequence[str] = (),
        classes: Sequence[str] = (),
        subject: Subject | None = None,
        purpose: Purpose = Purpose.CERTIFICATE,
        threads: int | None = 1,
    ) -> None:
        """Prepare.

        Args:
            field: a bounded attribution, e.g. `Unit(Saliency(model))`.
            noise: `UniformBall(radius)` or `Gaussian(sigma)`, in the units of the inputs.
            samples: the most noise draws per input (two draws, or two blocks of a random path, are always taken).
            alpha: with probability at least 1 - alpha everything an input's certificate says is true.
            until: stop sampling as soon as this is proved or cannot be within `samples`: (cosine, epsilon), or
                `TopK(k)`, the k largest cells are known.
            cells: fractions of the map, e.g. (0.5, 0.3, 0.1), at which `Certificate.cells` will be asked.
            reasons: how many of the largest features `Certificate.reasons` will be asked about; 0: none.
            intervals: whether `Certificate.interval` is to have error bars of its own for every cell, which a record
                then keeps (4 bytes each); without, it has the map's radius.
            batch: most rows per model call; None sizes it automatically.
            epsilons: records state the certified cosine at these.
            cosines: records state the largest certified epsilon at these.
            features: names of the map's cells, for the records.
            classes: names of the classes, so that a target may be a name; default: what the model calls them.
            subject: how the model and the data were named, for the records.
            purpose: what the draws are for; purposes share no random stream.
            threads: torch uses this many meanwhile; None: as many as torch is set to. With one, as in runs, the same
                draws give the same bits.
        """
        check_noise(noise)
        self.field, self.noise, self.purpose = check_field(field), noise, purpose
        self.plan = Plan(
            samples=int(check.count("samples", samples)), alpha=float(check.alpha(alpha)), until=question_of(until)
        )
        self.cells = fractions_of(cells, self.field)
        self.reasons = reasons_of(reasons, self.field)
        self.features, self.classes = tuple(features), tuple(classes) or class_names(self.field.model)
        self.intervals = intervals or isinstance(self.plan.until, TopK)
        self.batch = None if batch is None else int(check.count("batch", batch))
        self.threads = None if threads is None else int(check.count("threads", threads))
        self.epsilons = tuple(float(check.non_negative("epsilon", one)) for one in epsilons)
        self.cosines = tuple(float(check.fraction("cosine", one)) for one in cosines)
        self.subject = subject or Subject()
        self.weights = model_hash(self.field.model)
        check_columns(self.features, self.field.model)
        self._probed: tuple[int, ...] | None = None
        self._returned = Returned.LOGITS

    def __call__(
        self,
        x: Tensor,
        target: Target = None,
        *,
        seed: int | None = None,
        item: int = 0,
        label: int | None = None,
        progress: Wanted = None,
    ) -> Certificate:
        """Certify the explanation of one input.

        Args:
            x: one input, any shape.
            target: class to explain, by number or name; None: the predicted class.
            seed: seed of the draws; None: one that follows from the input, so that calls on different inputs share no
                noise. The certificate keeps it.
            item: number of the input; draws depend on (seed, item).
            label: the true class, where known.
            progress: True for a bar, or a function that is called with (samples done, samples planned).
        """
        x = check_input(x)
        chosen_seed = seed_from(input_bytes(x)) if seed is None else check.whole("seed", seed)
        with limited(self.threads):
            return self._certify(x, target, chosen_seed, check.whole("item", item), label, progress)

    def _certify(
        self, x: Tensor, target: Target, chosen_seed: int, item: int, label: int | None, progress: Wanted
    ) -> Certificate:
        peek = look_at(self.field.model, x)
        chosen = peek.prediction if target is None else check_target(target, peek.classes, self.classes)
        if line := bright_pixels(self.field.model, x):
            warnings.warn(line, AttriboundWarning, stacklevel=3)
        self._probe(x, chosen, chosen_seed, item)
        check_returned(self._returned, self.field.output, target_given=target is not None)
        generator = stream(Purpose.PROBE, chosen_seed, item, 1, x.device)
        with torch.enable_grad():
            plain = self.field.attribute(x.expand(self.field.block, *x.shape), chosen, generator=generator).detach()
        check.dimension(plain[0].numel(), "the map's size")
        names_of(self.features, plain[0].numel())
        for fraction in self.cells:
            hot_cells(fraction, plain[0].numel())
        source = Source(self.field, x, chosen, self.noise, chosen_seed, item, self.purpose, self.batch, classes=True)
        statistics = default_statistics(
            cosines=self.cosines, cells=self.cells, intervals=self.intervals, reasons=self.reasons
        )
        result = estimate(source, self.plan, plain.shape[1:], statistics, progress=meter(progress, "certify"))
        return self._certificate(result, source, peek.prediction, label, plain.mean(dim=0).cpu())

    def _probe(self, x: Tensor, target: int, seed: int, item: int) -> None:
        """Check once per shape of input that rows do not see each other; where maps do, they come row by row."""
        if self._probed != tuple(x.shape):
            generator = stream(Purpose.PROBE, seed, item, 0, x.device)
            near = self.noise.copies(x, probe_rows(self.field), generator)
            self.field = independent(self.field, x, near, target, generator)
            self._returned = returned_by(self.field.model, x, near)
            self._probed = tuple(x.shape)

    def _certificate(
        self, result: Estimate, source: Source, prediction: int, label: int | None, plain: Tensor
    ) -> Certificate:
        field, plan, law = self.field, self.plan, result.evidence.law
        length, closeness = result.evidence.fact(Length), result.evidence.fact(Closeness)
        record = Record(
            item=source.item,
            label=label,
            target=source.target,
            prediction=prediction,
            dim=law.dim,
            noise=NoiseRecord(law.kind, law.radius, law.sigma, law.units),
            attribution=field.name,
            maps=field.reshaped,
            output=field.output,
            bound=BoundRecord(field.kind, field.limit, field.source),  # type: ignore[arg-type]
            samples=result.samples,
            draws=result.draws,
            alpha=plan.alpha,
            seed=source.seed,
            norm=float(length.sampled),
            norm_lower=float(length.lower),
            eigenvalue_upper=float(result.evidence.fact(Spread).eigenvalue),
            map_radius=float(closeness.radius),
            facts={kind.name: fact.to_json() for kind, fact in result.evidence.facts.items()},
            fidelity=_fidelity(plain, result.map),
            stopped=result.stopped,
            budget=plan.samples,
            until=recorded(plan.until),
            map_shape=tuple(result.map.shape),
            features=self.features or msgspec.UNSET,
            seconds=result.seconds,
            versions={"attribound": version("attribound"), "torch": str(torch.__version__)},
            model_sha256=self.weights,
            input_sha256=input_hash(source.x),
            subject=self._subject(source),
        )
        return Certificate(record, result.map.numpy()).stating(self.epsilons, self.cosines)

    def _subject(self, source: Source) -> Subject:
        law = self.noise.law(source.x.numel())
        return msgspec.structs.replace(
            self.subject,
            model_sha256=self.weights,
            item=source.item,
            input_sha256=input_hash(source.x),
            attribution=self.field.name,
            maps=self.field.reshaped,
            output=self.field.output,
            bound=self.field.spec,
            noise=law.spec,
            units=law.units,
            seed=source.seed,
        )


def _fidelity(plain: Tensor, smoothed: Tensor) -> float | None:
    """Cosine of plain and smoothed map; None if one of them is empty, for then it shows nothing."""
    if not (bool(plain.any()) and bool(smoothed.any())):
        return None
    return float(cosine_similarity(plain[None], smoothed[None]))


def certify(
    field: Field,
    x: Tensor,
    target: Target = None,
    *,
    noise: Noise,
    samples: int = 4096,
    alpha: float = 1e-3,
    seed: int | None = None,
    until: Until = None,
    cells: Sequence[float] = (),
    reasons: int = 0,
    features: Sequence[str] = (),
    classes: Sequence[str] = (),
    batch: int | None = None,
    item: int = 0,
    threads: int | None = 1,
    progress: Wanted = None,
) -> Certificate:
    """Prove how far the smoothed explanation of one input can be bent.

    Args:
        field: a bounded attribution, e.g. `Unit(Saliency(model))`.
        x: one input, any shape; for a batch use `certify_batch`.
        target: class to explain, by number or name; None: the predicted class.
        noise: `UniformBall(radius)` or `Gaussian(sigma)`, in the units of x.
        samples: the most noise draws (two draws, or two blocks of a random path, are always taken).
        alpha: with probability at least 1 - alpha everything the certificate says is true.
        seed: seed of the draws; None: one that follows from the input.
        until: stop sampling as soon as this is proved or cannot be within `samples`: (cosine, epsilon), or `TopK(k)`,
            the k largest cells are known.
        cells: fractions of the map, e.g. (0.5, 0.3, 0.1), at which `Certificate.cells` will be asked.
        reasons: how many of the largest features `Certificate.reasons` will be asked about; 0: none.
        features: names of the map's cells: the columns of a table.
        classes: names of the classes, so that `target` may be one; default: what the model calls them.
        batch: most rows per model call; None sizes it automatically.
        item: number of the input; draws depend on (seed, item).
        threads: torch uses this many meanwhile, one as in runs; more may help a large network on an idle machine. None:
            as many as torch is set to. The setting is put back afterwards.
        progress: True for a bar, or a function that is called with (samples done, samples planned).
    """
    prepared = Certifier(
        field,
        noise=noise,
        samples=samples,
        alpha=alpha,
        until=until,
        cells=cells,
        reasons=reasons,
        intervals=True,
        batch=batch,
        features=features,
        classes=classes,
        threads=threads,
    )
    return prepared(x, target, seed=seed, item=item, progress=progress)


def certify_batch(
    field: Field,
    inputs: Tensor,
    target: Targets = None,
    *,
    noise: Noise,
    samples: int = 4096,
    alpha: float = 1e-3,
    seed: int | None = None,
    until: Until = None,
    cells: Sequence[float] = (),
    reasons: int = 0,
    features: Sequence[str] = (),
    classes: Sequence[str] = (),
    batch: int | None = None,
    item: int = 0,
    threads: int | None = 1,
    progress: Wanted = None,
) -> list[Certificate]:
    """Certify every input of a batch with a leading dimension; arguments as for `certify`.

    Args:
        field: a bounded attribution.
        inputs: (B, ...) inputs.
        target: one class for all, one per input, by number or name, or None: the predicted class of each.
        noise: the noise.
        samples: the most noise draws per input.
        alpha: failure probability of each certificate.
        seed: seed of all draws; None: one per input that follows from it.
        until: see `certify`.
        cells: see `certify`.
        reasons: see `certify`.
        features: names of the map's cells.
        classes: names of the classes.
        batch: most rows per model call.
        item: number of the first input.
        threads: see `certify`.
        progress: True for a bar, or a function that is called with (samples done, samples planned) of each input.
    """
    inputs = check_batch(inputs, check_field(field).model)
    targets = each_target(target, len(inputs))
    prepared = Certifier(
        field,
        noise=noise,
        samples=samples,
        alpha=alpha,
        until=until,
        cells=cells,
        reasons=reasons,
        intervals=True,
        batch=batch,
        features=features,
        classes=classes,
        threads=threads,
    )
    whole = meter(progress, "certify")
    return [
        prepared(x, one, seed=seed, item=item + number, progress=part(whole, number, len(inputs)))
        for number, (x, one) in enumerate(zip(inputs, targets, strict=True))
    ]


def certify_again(stored: Certificate, field: Bounded, x: Tensor, noise: Noise) -> Certificate:
    """Repeat a stored certificate's computation: the same draws, if model, input and settings are the same."""
    record = stored.record
    return certifier_of(record, field, noise)(x, record.target, seed=record.seed, item=record.item, label=record.label)


def certifier_of(record: Record, field: Bounded, noise: Noise) -> Certifier:
    """What made a record, or would make it again."""
    return Certifier(
        field, noise=noise, samples=record.budget, alpha=record.alpha, subject=record.subject, **asked(record)
    )
