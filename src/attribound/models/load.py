"""What people type after `--model`. Weights are loaded without executing code; `module:factory` is the user's own."""

import hashlib
import importlib
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from attribound.errors import ArgumentError, StoredDataError
from attribound.models.architectures import make_model
from attribound.models.shipped import SHIPPED, load_shipped

SPECS = "a shipped name, a .safetensors or .pt file with --arch, a TorchScript or exported program, or module:factory"


def load_model(spec: str, architecture: str | None = None, *, trust: bool = False) -> nn.Module:
    """The model of a spec, in evaluation mode, its weights fixed.

    Args:
        spec: a shipped name, a file of weights, a TorchScript or exported program, or `module:factory`.
        architecture: what the weights of a file belong to.
        trust: load exported programs (.pt2) too, parts of which torch unpickles.
    """
    if spec in SHIPPED:
        if architecture not in (None, SHIPPED[spec]):
            raise ArgumentError(f"{spec} is a {SHIPPED[spec]}, not a {architecture}: leave --arch out")
        return load_shipped(spec)
    path = Path(spec)
    if path.suffix == ".pt2":
        return _exported(path, trust)
    if spec and (path.suffix in _READERS or path.exists()):
        model = _from_file(path, architecture)
    elif ":" in spec:
        model = _from_factory(spec)
    else:
        raise ArgumentError(f"expected --model {SPECS} (shipped: {', '.join(SHIPPED)}), got {spec!r}")
    return _fixed(model.eval())


def code_hash(spec: str) -> str:
    """SHA-256 of a model's program, where weights do not say it all: script, exported program, factory's file."""
    path = Path(spec)
    if path.suffix == ".pt2" or (path.suffix in {".pt", ".pth"} and path.is_file() and _is_script(path)):
        return hashlib.sha256(path.read_bytes()).hexdigest()
    if spec in SHIPPED or path.suffix in _READERS or ":" not in spec:
        return ""
    source = getattr(sys.modules.get(spec.partition(":")[0]), "__file__", None)
    return hashlib.sha256(Path(source).read_bytes()).hexdigest() if source else ""


def _fixed(model: nn.Module) -> nn.Module:
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    return model


def _exported(path: Path, trust: bool) -> nn.Module:
    """An exported program; its graph has the mode it was exported in, and torch refuses eval() for it."""
    if not path.is_file():
        raise StoredDataError(f"no such file: {path}")
    if not trust:
        raise ArgumentError(f"torch unpickles parts of the exported program {path}: add --trust-model if you trust it")
    try:
        model = torch.export.load(path).module()
    except Exception as error:  # whatever a foreign file makes torch raise
        raise StoredDataError(f"{path} is not an exported program: {error}") from None
    for module in model.modules():
        module.training = False
    return _fixed(model)


def _from_file(path: Path, architecture: str | None) -> nn.Module:
    if not path.is_file():
        raise StoredDataError(
            f"{path} is a folder, expected a model file" if path.is_dir() else f"no such file: {path}"
        )
    if path.suffix not in _READERS:
        raise ArgumentError(f"expected a model file ({', '.join(_READERS)}), got {path}")
    if path.suffix != ".safetensors" and _is_script(path):
        return _script(path)
    if architecture is None:
        raise ArgumentError(f"{path} holds weights only: name their architecture with --arch")
    model = make_model(architecture)
    try:
        model.load_state_dict(_READERS[path.suffix](path))
    except (SafetensorError, RuntimeError, OSError, ValueError, TypeError, EOFError, AttributeError) as error:
        raise StoredDataError(f"{path} does not hold weights of {architecture}: {error}") from None
    except Exception as error:  # torch raises pickle.UnpicklingError for anything but plain tensors
        raise StoredDataError(f"{path} is not a file of plain weights: {type(error).__name__}") from None
    return model


def _read_torch(path: Path) -> dict[str, Tensor]:
    """A state dict, bare or under `state_dict`; nothing but tensors is unpickled."""
    stored = torch.load(path, map_location="cpu", weights_only=True)
    weights: dict[str, Tensor] = stored.get("state_dict", stored)
    return weights


_READERS: dict[str, Callable[[Path], dict[str, Tensor]]] = {
    ".safetensors": load_file,
    ".pt": _read_torch,
    ".pth": _read_torch,
}


def _is_script(path: Path) -> bool:
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any("/code/" in name for name in archive.namelist())


def _script(path: Path) -> nn.Module:
    try:
        # TorchScript is a program of tensor operations, run by torch's interpreter and not by Python.
        model: nn.Module = torch.jit.load(path, map_location="cpu")
    except RuntimeError as error:
        raise StoredDataError(f"{path} is not a TorchScript file: {error}") from None
    return model


def _from_factory(spec: str) -> nn.Module:
    """Call the user's own code, found as Python finds it from the current folder."""
    name, _, factory = spec.partition(":")
    sys.path.insert(0, "")
    try:
        model = getattr(importlib.import_module(name), factory)()
    except Exception as error:  # whatever the user's own code raises
        raise ArgumentError(f"cannot load the model {spec!r}: {type(error).__name__}: {error}") from None
    finally:
        sys.path.remove("")
    if not isinstance(model, nn.Module):
        raise ArgumentError(f"expected {spec!r} to return a torch module, got {type(model).__name__}")
    return model
