"""The work on one input, the same wherever it is done."""

import os
import time
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import final

import msgspec
import torch
from torch import Tensor

from attribound.certificates.certificate import Certificate
from attribound.certificates.record import Failure, map_hash
from attribound.certification.certifier import Certifier
from attribound.checks import FloatArray
from attribound.data import Dataset
from attribound.errors import AttriboundError
from attribound.fields import Bounded
from attribound.fields.base import forward
from attribound.fields.precision import in_precision
from attribound.noise import parse_noise
from attribound.randomness import Purpose, stream
from attribound.runs.job import Job
from attribound.runs.luggage import Heading
from attribound.runs.tasks import Outcome, Task

_NOISY_COPIES = 32


class Work(ABC):
    """Does tasks one by one.

    Engines give it one thread, always: sums in another order would give other last bits, and records must not depend
    on how many workers there are.
    """

    data: Dataset

    @abstractmethod
    def outcome(self, task: Task) -> Outcome:
        """Do one task."""

    @final
    def run(self, task: Task) -> Outcome:
        """Do one task; whatever goes wrong with it becomes its record."""
        if isinstance(self.data, Heading):
            self.data.hold(task)
        started, name = time.perf_counter(), self.data.input_name(task.item)
        try:
            return _named(self.outcome(task), name)
        except Exception as error:  # one bad input may not stop a run
            message = str(error) if isinstance(error, AttriboundError) else f"{type(error).__name__}: {error}"
            return Outcome(
                task.item,
                Failure(
                    item=task.item,
                    part=task.part,
                    input=name,
                    message=" ".join(message.split()) or type(error).__name__,
                    seconds=time.perf_counter() - started,
                    passing=isinstance(error, MemoryError)
                    or "out of memory" in message
                    or "allocate memory" in message,
                ),
            )


def _named(outcome: Outcome, name: str) -> Outcome:
    """The outcome of an input that people call so."""
    record = outcome.record
    if isinstance(record, Failure):
        return outcome
    subject = msgspec.structs.replace(record.subject, input=name)
    return replace(outcome, record=msgspec.structs.replace(record, subject=subject))


@final
class Worker(Work):
    """Certifies inputs one by one."""

    def __init__(self, job: Job) -> None:
        self.config = config = job.config
        opened = job.open()
        self.data, self.noise = opened.data, parse_noise(config.noise, config.units)
        self.certifier = Certifier(
            opened.field,
            noise=self.noise,
            changes=config.together,
            samples=config.samples,
            alpha=config.alpha,
            **config.asked,
            epsilons=config.epsilons,
            cosines=config.cosines,
            features=_names(opened.field, self.data, config.device),
            classes=self.data.classes,
            subject=config.subject,
            model_sha256=opened.model_sha256,
            batch=config.batch,
        )
        self.target = class_of(config.target)

    @property
    def bounded(self) -> Bounded:
        """The field that the run certifies."""
        return self.certifier.field

    def outcome(self, task: Task) -> Outcome:
        """Certify one input."""
        config, started = self.config, time.perf_counter()
        x = self.data.input(task.item).to(config.device)
        label = self.data.label(task.item)
        found = self.certifier(x, self.target, seed=config.seed, item=task.item, label=label)
        record = msgspec.structs.replace(
            found.record,
            accuracy_noisy=None if label is None else self._accuracy(x, task.item, label),
            seconds=time.perf_counter() - started,
            map_sha256=map_hash(found.attribution),
            versions=found.record.versions | {"cpu": torch.backends.cpu.get_cpu_capability()},
        )
        return Outcome(task.item, record, self._pictures(x, found, task))

    def _pictures(self, x: Tensor, found: Certificate, task: Task) -> dict[str, FloatArray]:
        kept = {"smoothed": found.attribution} if task.map or task.picture else {}
        if task.picture:
            generator = stream(Purpose.PROBE, found.seed, task.item, 1, x.device)
            rows = x.expand(self.bounded.block, *x.shape)
            exact = in_precision(self.bounded, "float32")
            plain = exact.base.attribute(rows, found.target, generator=generator).mean(dim=0)
            kept |= {"input": x.cpu().double().numpy(), "plain": plain.detach().cpu().double().numpy()}
        return kept

    def _accuracy(self, x: Tensor, item: int, label: int) -> float:
        """Share of noisy copies that are classified as labelled."""
        generator = stream(Purpose.ACCURACY, self.config.seed, item, 0, x.device)
        with torch.no_grad():
            family = self.certifier.family(x, label)
            logits = forward(self.bounded.model, family.inputs(family.noise(self.noise, _NOISY_COPIES, generator)))
        return float((logits.argmax(dim=1) == label).double().mean())


def class_of(target: str | None) -> int | str | None:
    """A class as it was typed: a number if it is one, else a name."""
    return int(target) if target is not None and target.isascii() and target.isdecimal() else target


def _names(field: Bounded, data: Dataset, device: str) -> tuple[str, ...]:
    """The data's names of features, if maps have a cell for each of them."""
    if not data.features:
        return ()
    rows = torch.zeros(field.block, *data.shape, device=device)
    with torch.enable_grad():
        size = field.attribute(rows, 0, generator=torch.Generator(device).manual_seed(0))[0].numel()
    return data.features if size == len(data.features) else ()


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
