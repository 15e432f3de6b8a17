"""The whole state of a training as one safetensors file: only tensors, and written whole or not at all."""

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import Tensor, nn

from attribound.errors import StoredDataError
from attribound.files import write_whole


def save_checkpoint(
    path: Path, recipe: str, epoch: int, model: nn.Module, optimizer: torch.optim.Optimizer, generator: torch.Generator
) -> None:
    """Store weights, the optimiser's moments, the generator, the number of finished epochs and what was trained."""
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    for index, moments in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{name}": torch.as_tensor(value) for name, value in moments.items()}
    tensors |= {"generator": generator.get_state(), "epoch": torch.tensor(epoch)}
    plain = {name: value.detach().clone().contiguous() for name, value in tensors.items()}
    write_whole(path, save(plain, {"recipe": recipe}))


def load_checkpoint(
    path: Path, recipe: str, model: nn.Module, optimizer: torch.optim.Optimizer, generator: torch.Generator
) -> int:
    """Put everything back as it was; returns the number of finished epochs."""
    try:
        with safe_open(path, "pt") as file:
            stored = (file.metadata() or {}).get("recipe", "something else")
        if stored != recipe:
            raise ValueError(f"it holds {stored}, not {recipe}")
        tensors = load_file(path)
        model.load_state_dict({name[6:]: value for name, value in tensors.items() if name.startswith("model.")})
        generator.set_state(tensors["generator"])
        state = optimizer.state_dict()
        state["state"] = _moments(tensors)
        optimizer.load_state_dict(state)
        return int(tensors["epoch"])
    except (OSError, SafetensorError, KeyError, RuntimeError, ValueError) as error:
        raise StoredDataError(f"{path} is not a checkpoint of this training: {error}") from None


def _moments(tensors: dict[str, Tensor]) -> dict[int, dict[str, Any]]:
    moments: dict[int, dict[str, Any]] = {}
    for name, value in tensors.items():
        if name.startswith("optimizer."):
            _, index, moment = name.split(".", 2)
            moments.setdefault(int(index), {})[moment] = value
    return moments
