"""Certify explanations: the public edge, where arguments are checked once."""

import warnings
from collections.abc import Sequence
from typing import Any, final

import msgspec
import torch
from torch import Tensor

from attribound import checks as check
from attribound.certificates.certificate import Certificate
from attribound.certificates.record import Record
from attribound.certificates.statements.base import COSINES, EPSILONS, Asking
from attribound.certificates.statements.registry import ask
from attribound.certificates.subject import Subject
from attribound.certification.arguments import (
    AskedTarget,
    Targets,
    check_batch,
    check_field,
    check_input,
    check_noise,
    check_target,
    class_names,
    each_target,
    look_at,
    with_precision,
)
from attribound.certification.given import Transform, given
from attribound.certification.method import answer
from attribound.certification.recording import Request
from attribound.certification.request import Until, again, names_of, question_of
from attribound.certification.suspicions import Returned, bright_pixels, check_columns, check_returned, returned_by
from attribound.changes.base import Change
from attribound.changes.together import Together
from attribound.errors import AttriboundWarning
from attribound.fields.base import Field, Model, innermost
from attribound.fields.bounded import Bounded, bounded
from attribound.fields.exchange import check_unchanged
from attribound.fields.precision import as_said, in_precision
from attribound.fields.rows import independent, probe_rows
from attribound.hashes import KeptHash, input_bytes
from attribound.noise import Noise
from attribound.progress import Wanted, meter, part
from attribound.randomness import Purpose, seed_from, stream
from attribound.sampling import Around, AtPoint, Plan, TopK
from attribound.sampling.along import Along, family_of
from attribound.threads import limited


@final
class Certifier:
    """Certifies explanations of one model, one input at a time; what is the same for all inputs is done once.

    Args:
        field: a bounded attribution, e.g. `Unit(Saliency(model))`.
        noise: `UniformBall(radius)` or `Gaussian(sigma)`, in the units of the inputs, or of the changes.
        changes: what happens to inputs, e.g. ("rotation:10", "zoom:10%"), one after the other: noise is then on the
            amounts, epsilon is the length of all amounts together, and each counts the amount that it names; empty:
            noise is on the inputs themselves.
        samples: the most noise draws per input (two draws, or two blocks of a random path, are always taken).
        alpha: with probability at least 1 - alpha everything an input's certificate says is true.
        until: stop sampling as soon as this is proved or cannot be within `samples`: (cosine, epsilon), or
            `TopK(k)`, the k largest cells are known.
        batch: most rows per model call; None sizes it automatically.
        epsilons: records state the certified cosine at these.
        cosines: records state the largest certified epsilon at these.
        features: names of the map's cells, for the records.
        classes: names of the classes, so that a target may be a name; default: what the model calls them.
        subject: how the model and the data were named, for the records.
        precision: run the model in "float32" (as it is) or "bfloat16"; the certificate is about its maps then. None: as
            the field says.
        purpose: what the draws are for; purposes share no random stream.
        threads: torch uses this many meanwhile; None: as many as torch is set to. With one, as in runs, the same
            draws give the same bits.
        model_sha256: the model's hash, if it was just taken; None: it is taken here. It is taken again for an input
            before which the model's weights were changed.
        asked: further statements by name: `cells=(0.5, 0.3)` (`Certificate.cells` at these fractions of the map),
            `reasons=4` (`Certificate.reasons` about the four largest features), `intervals=True` (error bars of their
            own for `Certificate.interval`, 4 bytes per cell in a record), or any that was registered.
    """

    def __init__(
        self,
        field: Field,
        *,
        noise: Noise,
        changes: Sequence[Change | str] = (),
        samples: int = 4096,
        alpha: float = 1e-3,
        until: Until = None,
        batch: int | None = None,
        epsilons: Sequence[float] = EPSILONS,
        cosines: Sequence[float] = COSINES,
        features: Sequence[str] = (),
        classes: Sequence[str] = (),
        subject: Subject | None = None,
        precision: str | None = None,
        purpose: Purpose = Purpose.CERTIFICATE,
        threads: int | None = 1,
        model_sha256: str | None = None,
        **asked: Any,
    ) -> None:
        check_noise(noise)
        self.field, self.noise, self.purpose = with_precision(check_field(field), precision), noise, purpose
        self.changes = Together(changes) if changes else None
        self.plan = Plan(
            samples=int(check.count("samples", samples)), alpha=float(check.alpha(alpha)), until=question_of(until)
        )
        self.features, self.classes = tuple(features) or field.features, tuple(classes) or class_names(field.model)
        self.batch = None if batch is None else int(check.count("batch", batch))
        self.threads = None if threads is None else int(check.count("threads", threads))
        self.epsilons = tuple(float(check.non_negative("epsilon", one)) for one in epsilons)
        self.cosines = tuple(float(check.fraction("cosine", one)) for one in cosines)
        if isinstance(self.plan.until, TopK):
            asked["intervals"] = True
        self.statements = ask(asked, Asking(self.field.name, self.field.block, self.cosines))
        self.subject = subject or Subject()
        self._weights = KeptHash(innermost(self.field).model, model_sha256)
        check_columns(self.features, self.field.model)
        self._probed: tuple[int, ...] | None = None
        self._returned = Returned.LOGITS

    def __call__(
        self,
        x: Tensor,
        target: AskedTarget = None,
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
        x = check_input(x, missing=self.field.takes_missing)
        chosen_seed = seed_from(input_bytes(x)) if seed is None else check.whole("seed", seed)
        with limited(self.threads), as_said(x):
            return self._certify(x, target, chosen_seed, check.whole("item", item), label, progress)

    def _certify(
        self, x: Tensor, target: AskedTarget, chosen_seed: int, item: int, label: int | None, progress: Wanted
    ) -> Certificate:
        peek = look_at(self.field.model, x)
        chosen = peek.prediction if target is None else check_target(target, peek.classes, self.classes)
        if line := bright_pixels(self.field.model, x):
            warnings.warn(line, AttriboundWarning, stacklevel=3)
        self._probe(x, chosen, chosen_seed, item)
        check_returned(self._returned, self.field, target_given=target is not None)
        plain = plain_map(self.field, x, chosen, chosen_seed, item)
        check.dimension(plain.numel(), "the map's size")
        names_of(self.features, plain.numel())
        for statement in self.statements:
            statement.check_size(plain.numel())
        request = Request(
            family=self.family(x, chosen),
            design=AtPoint(self.noise, chosen_seed, item, self.purpose, self.batch, classes=True),
            plan=self.plan,
            statements=self.statements,
            epsilons=self.epsilons,
            cosines=self.cosines,
            subject=msgspec.structs.replace(self.subject, model_sha256=self._weights()),
            features=self.features,
            plain=plain,
            prediction=peek.prediction,
            label=label,
        )
        certificate = answer(request, meter(progress, "certify"))
        check_unchanged(self.field, peek.logits, look_at(self.field.model, x).logits)
        return certificate

    def family(self, x: Tensor, target: int) -> Around | Along:
        """The maps that are certified: around an input, or after combinations of changes."""
        return family_of(self.field, target, x, self.changes, self.batch)

    def _probe(self, x: Tensor, target: int, seed: int, item: int) -> None:
        """Check once per shape of input that rows do not see each other; where maps do, they come row by row."""
        if self._probed != tuple(x.shape):
            generator, family = stream(Purpose.PROBE, seed, item, 0, x.device), self.family(x, target)
            shifts = family.noise(self.noise, probe_rows(self.field), generator)
            self.field = bounded(independent(family, shifts, generator).field)
            self._returned = returned_by(innermost(self.field).model, x, family.inputs(shifts))
            self._probed = tuple(x.shape)


def plain_map(field: Bounded, x: Tensor, target: int, seed: int, item: int) -> Tensor:
    """The plain map in float32, on the processor: what a rounded model's smoothed map is compared with, too."""
    generator, exact = stream(Purpose.PROBE, seed, item, 1, x.device), in_precision(field, "float32")
    with torch.enable_grad():
        maps = exact.attribute(x.expand(field.block, *x.shape), target, generator=generator).detach()
    return maps.mean(dim=0).cpu()


def certify(
    field: Field | Model,
    x: Any,
    target: AskedTarget = None,
    *,
    noise: Noise,
    method: str | None = None,
    transform: Transform | None = None,
    seed: int | None = None,
    item: int = 0,
    progress: Wanted = None,
    **settings: Any,
) -> Certificate:
    """Prove how far the smoothed explanation of one input can be bent.

    Args:
        field: a bounded attribution, e.g. `Unit(Saliency(model))`; or a model, with `method`.
        x: one input: a tensor or array of any shape, a picture file, an opened picture; `certify_batch` takes a batch.
        target: class to explain, by number or name; None: the predicted class.
        noise: `UniformBall(radius)` or `Gaussian(sigma)`, in the units of x, or of `changes`.
        method: of a model given as `field`, as after `--attribution`: "saliency", "gradcam", ...; its maps are scaled
            to length 1 (`Unit`).
        transform: makes a tensor of a picture, in place of our own reading.
        seed: seed of the draws; None: one that follows from the input.
        item: number of the input; draws depend on (seed, item).
        progress: True for a bar, or a function that is called with (samples done, samples planned).
        settings: as for `Certifier`: `changes` (("rotation:10", "zoom:10%"): noise on amounts of changes), `samples`
            (4,096 draws at most), `alpha` (0.001: with probability at least 1 - alpha everything the certificate says
            is true), `until` ((cosine, epsilon) or `TopK(k)`: stop sampling once that is decided), `cells` (fractions
            of the map, e.g. (0.5, 0.3)), `reasons` (how many of the largest features), `features` (names of the map's
            cells), `classes` (names of the classes), `batch` (most rows per model call), `precision` ("bfloat16": of
            the model), `threads` (1 as in runs; more may help a large network on an idle machine; None: as torch is
            set).
    """
    chosen, given_x = given(field, x, method, transform)
    prepared = Certifier(chosen, noise=noise, **{"intervals": True, **settings})
    return prepared(given_x, target, seed=seed, item=item, progress=progress)


def certify_batch(
    field: Field,
    inputs: Tensor,
    target: Targets = None,
    *,
    noise: Noise,
    seed: int | None = None,
    item: int = 0,
    progress: Wanted = None,
    **settings: Any,
) -> list[Certificate]:
    """Certify every input of a batch with a leading dimension.

    Args:
        field: a bounded attribution.
        inputs: (B, ...) inputs.
        target: one class for all, one per input, by number or name, or None: the predicted class of each.
        noise: the noise.
        seed: seed of all draws; None: one per input that follows from it.
        item: number of the first input.
        progress: True for a bar, or a function that is called with (samples done, samples planned) of each input.
        settings: as for `certify`.
    """
    inputs = check_batch(inputs, check_field(field))
    targets = each_target(target, len(inputs))
    prepared = Certifier(field, noise=noise, **{"intervals": True, **settings})
    whole = meter(progress, "certify")
    return [
        prepared(x, one, seed=seed, item=item + number, progress=part(whole, number, len(inputs)))
        for number, (x, one) in enumerate(zip(inputs, targets, strict=True))
    ]


def certifier_of(record: Record, field: Bounded, noise: Noise) -> Certifier:
    """What made a record, or would make it again."""
    asked, field = again(Certificate(record)), in_precision(field, record.subject.precision)
    asked["changes"] = record.subject.changes or ()
    return Certifier(field, noise=noise, samples=record.budget, alpha=record.alpha, subject=record.subject, **asked)


def certify_again(stored: Certificate, field: Bounded, x: Tensor, noise: Noise) -> Certificate:
    """Repeat a stored certificate's computation: the same draws, if model, input and settings are the same."""
    record = stored.record
    return certifier_of(record, field, noise)(x, record.target, seed=record.seed, item=record.item, label=record.label)
