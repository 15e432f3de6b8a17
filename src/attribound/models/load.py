"""What people type after `--model`. Weights are loaded without executing code; everything that is code says so."""

import hashlib
from pathlib import Path

from torch import nn

from attribound.errors import ArgumentError
from attribound.file_quota import shown, size_of
from attribound.models.architectures import make_model
from attribound.models.exported import load_exported, load_script
from attribound.models.forest import FOREST_SUFFIXES, load_forest
from attribound.models.onnx import load_onnx
from attribound.models.own import call_own, own_source_hash
from attribound.models.shipped import SHIPPED, load_shipped
from attribound.models.weights import WEIGHT_READERS, is_script, load_weights
from attribound.suggest import closest, did_you_mean

SPECS = (
    "a shipped name, a .safetensors or .pt file with --arch, an .onnx graph, a forest (.json, .ubj, .txt), "
    "module:factory, or with --trust-model a TorchScript or exported program"
)

_WHOLE = {".onnx": "an ONNX graph", ".pt2": "an exported program", **dict.fromkeys(FOREST_SUFFIXES, "a forest")}
"""Files that hold a whole model, by their endings."""


def load_model(spec: str, architecture: str | None = None, *, trust: bool = False) -> nn.Module:
    """The model of a spec, in evaluation mode, its weights fixed.

    Args:
        spec: a shipped name, a file of weights, an ONNX graph, a forest, a TorchScript or exported program, or
            `module:factory`.
        architecture: what the weights of a file belong to, a name or the user's own `module:Class`.
        trust: load programs too (TorchScript, .pt2): they are code.
    """
    if spec in SHIPPED:
        if architecture not in (None, SHIPPED[spec]):
            raise ArgumentError(f"{spec} is a {SHIPPED[spec]}, not a {architecture}: leave --arch out")
        return load_shipped(spec)
    path = Path(spec)
    if path.suffix in _WHOLE and architecture is not None:
        kind = _WHOLE[path.suffix]
        raise ArgumentError(f"{shown(path)} is {kind}, not weights of {architecture}: leave --arch out")
    if path.suffix == ".onnx":
        return load_onnx(path)
    if path.suffix in FOREST_SUFFIXES:
        return load_forest(path)
    if path.suffix == ".pt2":
        return _fixed(load_exported(path, trust))
    if spec and (path.suffix in WEIGHT_READERS or path.exists()):
        model = _from_file(path, architecture, trust)
    elif ":" in spec:
        model = _from_factory(spec, architecture)
    else:
        meant = did_you_mean(closest(spec, SHIPPED))
        raise ArgumentError(f"expected --model {SPECS} (shipped: {', '.join(SHIPPED)}), got {spec!r}{meant}")
    return _fixed(model.eval())


def code_hash(spec: str, architecture: str | None = None, *, own: str = "") -> str:
    """SHA-256 of the programs that weights do not say: script, exported program, the user's own code.

    Args:
        spec: what was typed after --model.
        architecture: after --arch.
        own: a `module:Field` of the user's own that explains the model, already imported.
    """
    program = _program_hash(spec, architecture)
    return hashlib.sha256(f"{program} {own_source_hash(own)}".encode()).hexdigest() if own else program


def _program_hash(spec: str, architecture: str | None) -> str:
    """SHA-256 of a model's program; "" if its weights say it all."""
    path = Path(spec)
    if path.suffix == ".pt2" or (path.suffix in WEIGHT_READERS and path.is_file() and is_script(path)):
        return hashlib.sha256(path.read_bytes()).hexdigest()
    if architecture is not None and ":" in architecture:
        return own_source_hash(architecture)
    if spec in SHIPPED or path.suffix in WEIGHT_READERS or ":" not in spec:
        return ""
    return own_source_hash(spec)


def _fixed(model: nn.Module) -> nn.Module:
    for parameter in model.parameters():  # scripts have no requires_grad_() of their own
        parameter.requires_grad_(False)
    return model


def _from_file(path: Path, architecture: str | None, trust: bool) -> nn.Module:
    size_of(path)
    if path.suffix not in WEIGHT_READERS:
        endings = ", ".join((*WEIGHT_READERS, *_WHOLE))
        raise ArgumentError(f"expected a model file ({endings}; TorchScript as .pt), got {shown(path)}")
    if is_script(path):
        return load_script(path, architecture, trust)
    if architecture is None:
        raise ArgumentError(f"{shown(path)} holds weights only: name their architecture with --arch")
    model = make_model(architecture)
    load_weights(model, path, architecture)
    return model


def _from_factory(spec: str, architecture: str | None) -> nn.Module:
    if architecture is not None:
        raise ArgumentError(f"{spec!r} makes the whole model: leave --arch out")
    return call_own(spec, "model")
