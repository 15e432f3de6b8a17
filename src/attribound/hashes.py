"""Fingerprints: which input and which weights a statement is about."""

import hashlib
from typing import Any

import torch
from torch import Tensor, nn


def input_bytes(x: Tensor) -> bytes:
    """The input's values in float32; all missing cells are the same bits."""
    values = x.detach().float().cpu()
    return torch.where(values.isnan(), torch.nan, values).contiguous().numpy().tobytes()


def input_hash(x: Tensor) -> str:
    """SHA-256 over the input's values in float32."""
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
