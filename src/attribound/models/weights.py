"""Files of plain weights: read without executing anything, unpacked from what people put around them."""

import mmap
import pickle
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from attribound.errors import StoredDataError
from attribound.file_quota import check_bytes, reason, shown, size_of

_WRAPPERS = ("state_dict", "model_state_dict", "model", "net", "weights", "params")
_COUNTER = "num_batches_tracked"  # of batch norm in training; old files lack it, and nothing uses it
_EMPTY_MEMORY = b"\nbytearray\n"
_PREFIXES = ("module.", "_orig_mod.", "model.", "net.")


def load_weights(model: nn.Module, path: Path, architecture: str) -> None:
    """Put the weights of a file into a model; raises StoredDataError if they are not the model's."""
    try:
        stored = WEIGHT_READERS[path.suffix](path)
        state = _matching(_state_dict(stored), set(model.state_dict()))
        _check_numbers(state, model.state_dict())
        model.load_state_dict(state)
    except StoredDataError as error:
        raise StoredDataError(f"{shown(path)} does not hold weights of {architecture}: {error}") from None
    except pickle.UnpicklingError:
        raise StoredDataError(
            f"{shown(path)} holds Python objects besides tensors, which are never loaded: save model.state_dict()"
        ) from None
    except Exception as error:  # whatever a foreign file makes torch and safetensors raise
        raise StoredDataError(f"{shown(path)} does not hold weights of {architecture}: {reason(error)}") from None


def _check_numbers(state: Mapping[str, Any], own: Mapping[str, Tensor]) -> None:
    """Raise unless floating-point weights are stored as such and finite."""
    for name, value in state.items():
        if isinstance(value, Tensor) and name in own and own[name].is_floating_point():
            if not value.is_floating_point():
                raise StoredDataError(f"{name} is {value.dtype}, expected floating-point numbers")
            if not bool(torch.isfinite(value).all()):
                raise StoredDataError(f"{name} is NaN or infinite in places")


def is_script(path: Path) -> bool:
    """Whether a file is a TorchScript program."""
    if not zipfile.is_zipfile(path):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return any("/code/" in name or name.endswith("/constants.pkl") for name in archive.namelist())
    except Exception:  # a zip file that cannot be listed is no script; reading it as weights will say why
        return False


def _read_torch(path: Path) -> Any:
    """A checkpoint; nothing but tensors and plain values is unpickled."""
    size = size_of(path)
    check_bytes(shown(path), _unpacked(path, size), size)
    if _asks_for_memory(path):
        raise StoredDataError("it asks for empty memory, which weights do not need")
    return torch.load(path, map_location="cpu", weights_only=True)


def _read_safetensors(path: Path) -> Any:
    size = size_of(path)
    check_bytes(shown(path), size, size)
    return load_file(path)


WEIGHT_READERS: dict[str, Callable[[Path], Any]] = {
    ".safetensors": _read_safetensors,
    ".pt": _read_torch,
    ".pth": _read_torch,
    ".bin": _read_torch,
    ".ckpt": _read_torch,
}


def _unpacked(path: Path, size: int) -> int:
    """Bytes of all members of a zip file, and of any other file."""
    if not zipfile.is_zipfile(path):
        return size
    with zipfile.ZipFile(path) as archive:
        return sum(member.file_size for member in archive.infolist())


def _asks_for_memory(path: Path) -> bool:
    """Whether a pickle in the file calls `bytearray`: torch allows it, and fifty bytes then take any number."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if content.find(_EMPTY_MEMORY) >= 0:
            return True
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        packed = [member for member in archive.infolist() if member.compress_type != zipfile.ZIP_STORED]
        return any(_EMPTY_MEMORY in archive.read(member) for member in packed)


def _state_dict(stored: Any) -> dict[str, Tensor]:
    """The tensors by name, bare or under one of the usual keys."""
    for _ in range(3):
        if not isinstance(stored, Mapping):
            break
        wrapped = next((key for key in _WRAPPERS if isinstance(stored.get(key), Mapping)), None)
        if wrapped is None:
            break
        stored = stored[wrapped]
    if not isinstance(stored, Mapping) or not stored or not all(isinstance(v, Tensor) for v in stored.values()):
        keys = ", ".join(str(key) for key in list(stored)[:5]) if isinstance(stored, Mapping) else ""
        raise StoredDataError(
            f"expected tensors by name, bare or under {' or '.join(_WRAPPERS[:3])}, got "
            f"{type(stored).__name__}{f' with {keys}' if keys else ''}"
        )
    return {str(name): value for name, value in stored.items()}


def _matching(state: dict[str, Tensor], wanted: set[str]) -> dict[str, Tensor]:
    """The same tensors under the model's names: wrappers of training put a prefix before every name."""
    for _ in range(len(_PREFIXES)):
        prefix = next((p for p in _PREFIXES if all(name.startswith(p) for name in state)), None)
        if prefix is None or any(name in wanted for name in state):
            break
        state = {name.removeprefix(prefix): value for name, value in state.items()}
    lacks = sorted(name for name in wanted - set(state) if not name.endswith(_COUNTER))
    unknown = sorted(set(state) - wanted)
    problems = [
        f"{what} {names[0]}" + f" and {len(names) - 1} more" * (len(names) > 1)
        for what, names in (("it lacks", lacks), ("it has the unknown", unknown))
        if names
    ]
    if problems:
        raise StoredDataError("; ".join(problems))
    return state
