"""The work on one input, the same wherever it is done."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import final

import torch
from torch import Tensor, nn

from attribound.checks import FloatArray
from attribound.certificate import Certificate
from attribound.certification import certify, input_hash
from attribound.data import Dataset, open_data
from attribound.errors import AttriboundError
from attribound.estimation import chunk_generator
from attribound.fields import Bounded, make_field
from attribound.fields.base import Output
from attribound.models import load_model
from attribound.noise import parse_noise
from attribound.runs.config import RunConfig
from attribound.runs.tasks import Outcome, Task

_NOISY_COPIES = 32


@final
@dataclass(frozen=True)
class Job:
    """What a worker needs to begin.

    Attributes:
        config: the run.
        trust: load exported programs too.
        weights: the model's tensors, to be shared rather than loaded again; None: load them.
    """

    config: RunConfig
    trust: bool = False
    weights: Mapping[str, Tensor] | None = None


@final
class Worker:
    """Certifies inputs one by one.

    Engines give it one thread, always: sums in another order would give other last bits, and records must not depend
    on how many workers there are.
    """

    def __init__(self, job: Job) -> None:
        self.config = job.config
        self.data: Dataset = open_data(job.config.data)
        self.model = _model(job)
        self.noise = parse_noise(job.config.noise)

    @property
    def bounded(self) -> Bounded:
        """The field that the run certifies."""
        return field_of(self.config, self.model)

    def run(self, task: Task) -> Outcome:
        """Certify one input; whatever goes wrong with it becomes its record."""
        started = time.perf_counter()
        try:
            return self.certify(task)[1]
        except Exception as error:  # one bad input may not stop a run
            message = str(error) if isinstance(error, AttriboundError) else f"{type(error).__name__}: {error}"
            record = {"item": task.item, "label": self._label(task.item), "status": "error"}
            record |= {"message": " ".join(message.split()) or type(error).__name__}
            return Outcome(task.item, {**record, "seconds": time.perf_counter() - started})

    def certify(self, task: Task) -> tuple[Certificate, Outcome]:
        """The certificate of one input, and what a run keeps of it."""
        config, started = self.config, time.perf_counter()
        x = self.data.image(task.item).to(config.device)
        found: Certificate = certify(
            self.bounded,
            x,
            noise=self.noise,
            samples=config.samples,
            alpha=config.alpha,
            seed=config.seed,
            item=task.item,
        )
        found = replace(found, label=self._label(task.item))
        record = found.to_stored(config.epsilons, config.cosines)
        record |= {"accuracy_noisy": self._accuracy(x, task.item), "seconds": time.perf_counter() - started}
        return found, Outcome(task.item, record, self._pictures(x, found) if task.picture else {})

    def _pictures(self, x: Tensor, found: Certificate) -> dict[str, FloatArray]:
        plain = self.bounded.base.attribute(x[None], found.target)[0].detach().cpu().double().numpy()
        return {"input": x.cpu().double().numpy(), "plain": plain, "smoothed": found.attribution}

    def _accuracy(self, x: Tensor, item: int) -> float:
        """Share of noisy copies that are classified as labelled."""
        generator = chunk_generator(self.config.seed, item, 0, x.device, purpose="accuracy")
        with torch.no_grad():
            logits = self.model(x + self.noise.draw(_NOISY_COPIES, x, generator))
        return float((logits.argmax(dim=1) == self._label(item)).double().mean())

    def _label(self, item: int) -> int:
        return self.data.label(item)


def field_of(config: RunConfig, model: nn.Module) -> Bounded:
    """The field that a run certifies."""
    output: Output = "probability" if config.output == "probability" else "logit"
    return make_field(model, config.attribution, config.bound, output)


def input_of(data: Dataset, item: int, sha256: str) -> Tensor:
    """An input of a run, if it is still the one that was certified."""
    x = data.image(item)
    if input_hash(x) != sha256:
        raise AttriboundError(f"item {item} of {data.name} is not the input that was certified")
    return x


def _model(job: Job) -> nn.Module:
    model = load_model(job.config.model, job.config.arch, trust=job.trust)
    if job.weights is not None and not isinstance(model, torch.jit.ScriptModule):
        model.load_state_dict(dict(job.weights), assign=True)
        for parameter in model.parameters():
            parameter.requires_grad_(False)
    return model.to(job.config.device)


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
