"""Certify explanations: the public edge, where arguments are checked once."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, final

import msgspec
import numpy as np
import torch
from torch import Tensor

from attribound import checks as check
from attribound.bounds.cells import hot_cells
from attribound.bounds.facts import Closeness, Length, Spread
from attribound.certificates.asked import Until, asked, fractions_of, question_of, recorded
from attribound.certificates.certificate import COSINES, EPSILONS, Certificate
from attribound.certificates.record import BoundRecord, NoiseRecord, Record
from attribound.certificates.subject import Subject
from attribound.errors import ArgumentError, FieldError
from attribound.fields.base import Field, Model, forward
from attribound.fields.bounded import Bounded
from attribound.fields.rows import check_evaluating, independent, probes
from attribound.hashes import input_bytes, input_hash, model_hash
from attribound.metrics import cosine_similarity
from attribound.noise import Noise
from attribound.randomness import Purpose, seed_from, stream
from attribound.sampling import Estimate, Plan, Progress, Source, TopK, default_statistics, estimate

_PROBES = 6
"""Noisy copies of the input, and as many further away, on which rows are checked to be independent."""

Targets = int | Sequence[int] | Tensor | None


@final
@dataclass(frozen=True)
class Peek:
    """What one look at an unchanged input says.

    Attributes:
        prediction: the model's class.
        classes: how many classes there are.
    """

    prediction: int
    classes: int


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
        intervals: bool = False,
        batch: int | None = None,
        epsilons: Sequence[float] = EPSILONS,
        cosines: Sequence[float] = COSINES,
        subject: Subject | None = None,
        purpose: Purpose = Purpose.CERTIFICATE,
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
            intervals: whether `Certificate.interval` is to have error bars of its own for every cell, which a record
                then keeps (4 bytes each); without, it has the map's radius.
            batch: most rows per model call; None sizes it automatically.
            epsilons: records state the certified cosine at these.
            cosines: records state the largest certified epsilon at these.
            subject: how the model and the data were named, for the records.
            purpose: what the draws are for; purposes share no random stream.
        """
        if not isinstance(noise, Noise):
            raise ArgumentError(f"expected `noise` UniformBall or Gaussian, got {type(noise).__name__}")
        self.field, self.noise, self.purpose = check_field(field), noise, purpose
        self.plan = Plan(
            samples=int(check.count("samples", samples)), alpha=float(check.alpha(alpha)), until=question_of(until)
        )
        self.cells = fractions_of(cells, self.field)
        self.intervals = intervals or isinstance(self.plan.until, TopK)
        self.batch = None if batch is None else int(check.count("batch", batch))
        self.epsilons = tuple(float(check.non_negative("epsilon", one)) for one in epsilons)
        self.cosines = tuple(float(check.fraction("cosine", one)) for one in cosines)
        self.subject = subject or Subject()
        self.weights = model_hash(self.field.model)
        self._probed: tuple[int, ...] | None = None

    def __call__(
        self,
        x: Tensor,
        target: int | None = None,
        *,
        seed: int | None = None,
        item: int = 0,
        label: int | None = None,
        progress: Progress | None = None,
    ) -> Certificate:
        """Certify the explanation of one input.

        Args:
            x: one input, any shape.
            target: class to explain; None: the predicted class.
            seed: seed of the draws; None: one that follows from the input, so that calls on different inputs share no
                noise. The certificate keeps it.
            item: number of the input; draws depend on (seed, item).
            label: the true class, where known.
            progress: called with (samples done, samples planned).
        """
        x = check_input(x)
        chosen_seed = seed_from(input_bytes(x)) if seed is None else check.whole("seed", seed)
        item = check.whole("item", item)
        peek = look_at(self.field.model, x)
        chosen = peek.prediction if target is None else check_target(target, peek.classes)
        self._probe(x, chosen, chosen_seed, item)
        generator = stream(Purpose.PROBE, chosen_seed, item, 1, x.device)
        with torch.enable_grad():
            plain = self.field.attribute(x.expand(self.field.block, *x.shape), chosen, generator=generator).detach()
        check.dimension(plain[0].numel(), "the map's size")
        for fraction in self.cells:
            hot_cells(fraction, plain[0].numel())
        source = Source(self.field, x, chosen, self.noise, chosen_seed, item, self.purpose, self.batch, classes=True)
        statistics = default_statistics(cosines=self.cosines, cells=self.cells, intervals=self.intervals)
        result = estimate(source, self.plan, plain.shape[1:], statistics, progress=progress)
        return self._certificate(result, source, peek.prediction, label, plain.mean(dim=0).cpu())

    def _probe(self, x: Tensor, target: int, seed: int, item: int) -> None:
        """Check once per shape of input that rows do not see each other; where maps do, they come row by row."""
        if self._probed != tuple(x.shape):
            near = self.noise.copies(x, _PROBES, stream(Purpose.PROBE, seed, item, 0, x.device))
            self.field = independent(self.field, probes(x, near), target)
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
            fidelity=float(cosine_similarity(plain[None], result.map[None])),
            stopped=result.stopped,
            budget=plan.samples,
            until=recorded(plan.until),
            map_shape=tuple(result.map.shape),
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


def certify(
    field: Field,
    x: Tensor,
    target: int | None = None,
    *,
    noise: Noise,
    samples: int = 4096,
    alpha: float = 1e-3,
    seed: int | None = None,
    until: Until = None,
    cells: Sequence[float] = (),
    batch: int | None = None,
    item: int = 0,
    progress: Progress | None = None,
) -> Certificate:
    """Prove how far the smoothed explanation of one input can be bent.

    Args:
        field: a bounded attribution, e.g. `Unit(Saliency(model))`.
        x: one input, any shape; for a batch use `certify_batch`.
        target: class to explain; None: the predicted class.
        noise: `UniformBall(radius)` or `Gaussian(sigma)`, in the units of x.
        samples: the most noise draws (two draws, or two blocks of a random path, are always taken).
        alpha: with probability at least 1 - alpha everything the certificate says is true.
        seed: seed of the draws; None: one that follows from the input.
        until: stop sampling as soon as this is proved or cannot be within `samples`: (cosine, epsilon), or `TopK(k)`,
            the k largest cells are known.
        cells: fractions of the map, e.g. (0.5, 0.3, 0.1), at which `Certificate.cells` will be asked.
        batch: most rows per model call; None sizes it automatically.
        item: number of the input; draws depend on (seed, item).
        progress: called with (samples done, samples planned).
    """
    prepared = Certifier(
        field, noise=noise, samples=samples, alpha=alpha, until=until, cells=cells, intervals=True, batch=batch
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
    batch: int | None = None,
    item: int = 0,
    progress: Progress | None = None,
) -> list[Certificate]:
    """Certify every input of a batch with a leading dimension; arguments as for `certify`.

    Args:
        field: a bounded attribution.
        inputs: (B, ...) inputs.
        target: one class for all, one per input, or None: the predicted class of each.
        noise: the noise.
        samples: the most noise draws per input.
        alpha: failure probability of each certificate.
        seed: seed of all draws; None: one per input that follows from it.
        until: see `certify`.
        cells: see `certify`.
        batch: most rows per model call.
        item: number of the first input.
        progress: called with (samples done, samples planned) of the current input.
    """
    inputs = check_input(inputs)
    if inputs.ndim < 2:
        raise ArgumentError(
            f"expected a batch (inputs, ...), got shape {tuple(inputs.shape)}: use certify for one input"
        )
    targets = _targets(target, len(inputs))
    prepared = Certifier(
        field, noise=noise, samples=samples, alpha=alpha, until=until, cells=cells, intervals=True, batch=batch
    )
    return [
        prepared(x, one, seed=seed, item=item + number, progress=progress)
        for number, (x, one) in enumerate(zip(inputs, targets, strict=True))
    ]


def certify_again(stored: Certificate, field: Bounded, x: Tensor, noise: Noise) -> Certificate:
    """Repeat a stored certificate's computation: the same draws, if model, input and settings are the same."""
    record = stored.record
    again = Certifier(
        field, noise=noise, samples=record.budget, alpha=record.alpha, subject=record.subject, **asked(record)
    )
    return again(x, record.target, seed=record.seed, item=record.item, label=record.label)


def check_field(field: Field) -> Bounded:
    """The field, if it has a limit and its model is in evaluation mode."""
    if not isinstance(field, Bounded):
        kind = type(field).__name__
        raise FieldError(f"expected a field with a limit, e.g. Unit({kind}(...)), got {kind}")
    check_evaluating(field.model)
    return field


def check_input(x: Any) -> Tensor:
    """The input as a finite floating-point tensor; numpy arrays are taken too."""
    if isinstance(x, np.ndarray):
        x = torch.from_numpy(np.ascontiguousarray(x))
    if not isinstance(x, Tensor):
        raise ArgumentError(f"expected `x` to be a tensor, got {type(x).__name__}")
    if not x.is_floating_point():
        raise ArgumentError(f"expected a floating-point `x`, got {x.dtype}")
    if not torch.isfinite(x).all():
        raise ArgumentError("expected a finite `x`, got NaN or infinity in it")
    return x.detach()


def look_at(model: Model, x: Tensor) -> Peek:
    """The predicted class of one input; a batch in its place gets an error that names it."""
    problem: Exception
    try:
        with torch.no_grad():
            logits = forward(model, x[None])
    except (FieldError, RuntimeError, ValueError, IndexError, TypeError) as error:
        problem = error
    else:
        check.dimension(x.numel(), "x's size")
        return Peek(int(logits.argmax(dim=1)), logits.shape[1])
    if _is_batch(model, x):
        raise ArgumentError(
            f"expected one input, got a batch of {len(x)} (shape {tuple(x.shape)}): use certify_batch, or x[0]"
        )
    reason = " ".join(str(problem).split())[:300] or type(problem).__name__
    raise FieldError(f"the model does not accept one input of shape {tuple(x.shape)} (as a batch of 1): {reason}")


def _is_batch(model: Model, x: Tensor) -> bool:
    try:
        with torch.no_grad():
            return x.ndim > 1 and len(forward(model, x)) == len(x)
    except (FieldError, RuntimeError, ValueError, IndexError, TypeError):
        return False


def check_target(target: Any, classes: int) -> int:
    """A class number, from any kind of whole number."""
    try:
        number = -1 if isinstance(target, bool) else operator.index(target)
    except TypeError:
        number = -1
    if not 0 <= number < classes:
        raise ArgumentError(f"expected `target` in 0..{classes - 1}, got {target}")
    return number


def _targets(target: Targets, count: int) -> list[Any]:
    if isinstance(target, Tensor | np.ndarray):
        target = target.tolist()
    if not isinstance(target, Sequence):
        return [target] * count
    if len(target) != count:
        raise ArgumentError(f"expected one `target` per input ({count}), got {len(target)}")
    return list(target)
