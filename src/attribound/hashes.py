"""Fingerprints: which input and which weights a statement is about."""

import hashlib
from itertools import chain
from typing import Any, final

import torch
from torch import Tensor, nn


def input_bytes(x: Tensor) -> bytes:
    """The input's values in float32, or float64 where float32 does not hold them; missing cells are the same bits."""
    given, narrow = x.detach().cpu(), x.detach().cpu().float()
    exact = torch.equal(narrow.double().nan_to_num(nan=0.0), given.double().nan_to_num(nan=0.0))
    values = narrow if exact else given.double()
    return torch.where(values.isnan(), torch.nan, values).contiguous().numpy().tobytes()


def input_hash(x: Tensor) -> str:
    """SHA-256 over the input's values."""
    return hashlib.sha256(input_bytes(x)).hexdigest()


def model_hash(model: Any) -> str:
    """SHA-256 over the model's named weights and the hashes that pin functions in it; "" if nothing pins one."""
    if not isinstance(model, nn.Module):
        return ""
    pinned = {name: part.pinned_sha256 for name, part in model.named_modules() if hasattr(part, "pinned_sha256")}
    if not all(pinned.values()):
        return ""
    if set(pinned) == {""}:  # the function itself
        return str(pinned[""])
    digest = hashlib.sha256()
    for name, sha256 in sorted(pinned.items()):
        digest.update(f"{name} {sha256}".encode())
    for name, value in sorted(model.state_dict().items()):
        digest.update(name.encode())
        if isinstance(value, Tensor):
            digest.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


@final
class KeptHash:
    """The hash of one model, taken again only where its weights were written to or exchanged meanwhile."""

    def __init__(self, model: Any, known: str | None = None) -> None:
        """Take the hash when it is first asked for.

        Args:
            model: the model.
            known: its hash, if it was just taken and the model stays as it is.
        """
        self._model, self._known, self._marks = model, known, None if known is None else _marks(model)

    def __call__(self) -> str:
        """The hash of the weights as they are now."""
        marks = _marks(self._model)
        if self._known is None or marks != self._marks:
            self._known, self._marks = model_hash(self._model), marks
        return self._known


def _marks(model: Any) -> list[tuple[int, int, float]]:
    """Where every weight lies, how often it was written to, and its sum: not all ways to write to it are counted."""
    if not isinstance(model, nn.Module):
        return []
    tensors = [value.detach() for value in chain(model.parameters(), model.buffers())]
    return [(value.data_ptr(), value._version, _sum(value)) for value in tensors]


def _sum(value: Tensor) -> float:
    numbers = torch.view_as_real(value) if value.is_complex() else value
    return float(numbers.sum(dtype=torch.float64))
