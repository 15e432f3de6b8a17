"""What a worker begins with: the run, its model and its data, opened once in every process."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import torch
from torch import Tensor, nn

from attribound.certification.reopen import open_field, open_model
from attribound.data import Dataset, Unlabelled, open_data
from attribound.data.cells import Cells
from attribound.errors import AttriboundError
from attribound.fields.bounded import Bounded
from attribound.hashes import model_hash
from attribound.runs.config import RunConfig
from attribound.runs.luggage import Files, Heading


@final
@dataclass(frozen=True)
class Opened:
    """A run's data and field, with the hash of the field's model."""

    data: Dataset
    field: Bounded
    model_sha256: str


@final
@dataclass(frozen=True)
class Job:
    """What a worker needs to begin.

    Attributes:
        config: the run.
        trust: load programs (TorchScript, exported) too.
        weights: the model's tensors, to be shared rather than loaded again; None: load them.
        labelled: the labels of the data, where there are any, are the model's numbers.
        heading: the data's description, if inputs come with their tasks; None: the data are read by their name.
        files: contents of the model's files, for machines that do not have them.
        opened: what the process that prepared the run has open; it stays in that process.
    """

    config: RunConfig
    trust: bool = False
    weights: Mapping[str, Tensor] | None = None
    labelled: bool = True
    heading: Heading | None = None
    files: Files = field(default_factory=Files)
    opened: Opened | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What goes to another process."""
        return {**vars(self), "opened": None}

    def open(self) -> Opened:
        """The run's data, with no labels but the model's, and its field; an error if the model is another by now."""
        if self.opened is not None:
            return self.opened
        config = self.config
        # A heading is empty, and so false.
        data = open_data(config.data, cells=cells_of(config)) if self.heading is None else self.heading
        model = _model(self, data.shape)
        sha256 = model_hash(model)
        if config.model_sha256 not in ("", sha256):
            raise AttriboundError(f"{config.model} has changed since the run was prepared: its hash differs")
        return Opened(data if self.labelled else Unlabelled(data), open_field(config.subject, model), sha256)


def cells_of(config: RunConfig) -> Cells | None:
    """How cells of a run's table are read; None: as numbers."""
    return None if config.words is None else Cells(missing=True, words=config.words)


def _model(job: Job, shape: Sequence[int]) -> nn.Module:
    """The run's model, with the weights that workers share, where it runs."""
    with job.files.unpacked(job.config.subject) as subject:
        model = open_model(subject, shape, trust=job.trust)
    if job.weights is not None and not isinstance(model, torch.jit.ScriptModule):
        model.load_state_dict(dict(job.weights), assign=True)
        for parameter in model.parameters():
            parameter.requires_grad_(False)
    return model.to(job.config.device)
