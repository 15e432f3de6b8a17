"""The user's own code, imported only because the user typed `module:name`."""

import hashlib
import importlib
import sys
from pathlib import Path
from typing import Any

from torch import nn

from attribound.errors import ArgumentError
from attribound.models.functions import Scores


def load_own(spec: str, what: str, *, call: bool = False) -> Any:
    """The object that the user named, found as Python finds it from the current folder.

    Args:
        spec: `module:name`.
        what: "model", "architecture" or "transform", for the message.
        call: return what the object makes when it is called without arguments.
    """
    name, _, attribute = spec.partition(":")
    sys.path.insert(0, "")
    try:
        own = getattr(importlib.import_module(name), attribute)
        return own() if call else own
    except Exception as error:  # whatever the user's own code raises
        raise ArgumentError(f"cannot load the {what} {spec!r}: {type(error).__name__}: {error}") from None
    finally:
        sys.path.remove("")


def call_own(spec: str, what: str) -> nn.Module:
    """The module that the user's own factory or class makes; another callable is a function of numpy rows."""
    model = load_own(spec, what, call=True)
    if isinstance(model, nn.Module):
        return model
    if not callable(model):
        raise ArgumentError(
            f"expected {spec!r} to return a torch module or a function of rows, got {type(model).__name__}"
        )
    return Scores(model)


def own_source_hash(spec: str) -> str:
    """SHA-256 of the file that an imported `module:name` came from, "" if there is none."""
    source = getattr(sys.modules.get(spec.partition(":")[0]), "__file__", None)
    return hashlib.sha256(Path(source).read_bytes()).hexdigest() if source else ""
