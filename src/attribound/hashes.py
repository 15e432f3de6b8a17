"""Fingerprints: which input and which weights a statement is about."""

import hashlib
from typing import Any

import torch
from torch import Tensor, nn


def input_bytes(x: Tensor) -> bytes:
    """The input's values in float32."""
    return x.detach().float().cpu().contiguous().numpy().tobytes()


def input_hash(x: Tensor) -> str:
    """SHA-256 over the input's values in float32."""
    return hashlib.sha256(input_bytes(x)).hexdigest()


def model_hash(model: Any) -> str:
    """SHA-256 over the model's named weights; "" for a plain function."""
    if not isinstance(model, nn.Module):
        return ""
    digest = hashlib.sha256()
    for name, value in sorted(model.state_dict().items()):
        digest.update(name.encode())
        if isinstance(value, Tensor):
            digest.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
