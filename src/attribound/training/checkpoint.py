"""The whole state of a training as one safetensors file: only tensors, and written whole or not at all."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import Tensor, nn

from attribound.errors import StoredDataError
from attribound.files import write_whole

SECONDS = 30.0
"""A training saves its state at least this often, and after every pass over the data."""


@final
@dataclass(frozen=True)
class Place:
    """Where a training is.

    Attributes:
        epoch: finished passes over the data.
        order: (images of the pass,) the order of the data in the pass under way; empty before it begins.
        steps: finished steps of that pass.
        loss: sum of their losses over the images.
    """

    epoch: int = 0
    order: Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.long))
    steps: int = 0
    loss: float = 0.0


@final
class Checkpoint:
    """The file that a training goes on from.

    Args:
        path: the file.
        recipe: what is trained; a file of another training is refused.
        model: the model.
        optimizer: its optimiser.
        generator: the source of all randomness.
    """

    def __init__(
        self,
        path: Path,
        recipe: str,
        *,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        generator: torch.Generator,
    ) -> None:
        self.path, self.recipe = path, recipe
        self.model, self.optimizer, self.generator = model, optimizer, generator
        self._saved = time.monotonic()

    def save(self, place: Place) -> None:
        """Store weights, the optimiser's moments, the generator, the place and what is trained."""
        tensors = {f"model.{name}": value for name, value in self.model.state_dict().items()}
        for index, moments in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{index}.{name}": torch.as_tensor(value) for name, value in moments.items()}
        tensors |= {"generator": self.generator.get_state(), "epoch": torch.tensor(place.epoch), "order": place.order}
        tensors |= {"steps": torch.tensor(place.steps), "loss": torch.tensor(place.loss, dtype=torch.float64)}
        plain = {name: value.detach().clone().contiguous() for name, value in tensors.items()}
        write_whole(self.path, save(plain, {"recipe": self.recipe}))
        self._saved = time.monotonic()

    def save_if_due(self, place: Place) -> None:
        """Store the state if it was last stored `SECONDS` ago."""
        if time.monotonic() - self._saved >= SECONDS:
            self.save(place)

    def load(self) -> Place:
        """Put everything back as it was; the beginning if there is no file."""
        if not self.path.exists():
            return Place()
        try:
            with safe_open(self.path, "pt") as file:
                stored = (file.metadata() or {}).get("recipe", "something else")
            if stored != self.recipe:
                raise ValueError(f"it holds {stored}, not {self.recipe}")
            return self._restored(load_file(self.path))
        except (OSError, SafetensorError, KeyError, RuntimeError, ValueError) as error:
            raise StoredDataError(f"{self.path} is not a checkpoint of this training: {error}") from None

    def _restored(self, tensors: dict[str, Tensor]) -> Place:
        place = Place(int(tensors["epoch"]), tensors["order"], int(tensors["steps"]), float(tensors["loss"]))
        self.model.load_state_dict({name[6:]: value for name, value in tensors.items() if name.startswith("model.")})
        self.generator.set_state(tensors["generator"])
        state = self.optimizer.state_dict()
        state["state"] = _moments(tensors)
        self.optimizer.load_state_dict(state)
        return place


def _moments(tensors: dict[str, Tensor]) -> dict[int, dict[str, Any]]:
    moments: dict[int, dict[str, Any]] = {}
    for name, value in tensors.items():
        if name.startswith("optimizer."):
            _, index, moment = name.split(".", 2)
            moments.setdefault(int(index), {})[moment] = value
    return moments
