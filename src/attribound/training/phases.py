"""Phases of a training, one after the other: an objective and a schedule each, typed as options or read from a file."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, final

from attribound.errors import ArgumentError
from attribound.file_quota import read_bytes, reason, shown
from attribound.noise import Noise, parse_noise
from attribound.training.base import Objective
from attribound.training.recipes import make_objective
from attribound.training.schedule import Schedule


@final
@dataclass(frozen=True)
class Phase:
    """One part of a training.

    Attributes:
        objective: the loss.
        schedule: how long and how fast.
        noise: the law that was asked for, if any.
    """

    objective: Objective
    schedule: Schedule
    noise: Noise | None = None


_WORDS = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}
SETTINGS: dict[str, type] = {
    "objective": str,
    "noise": str,
    "augment": bool,
    "norm": str,
    "bfloat16": bool,
    "epsilon": float,
    "beta": float,
    "weight": float,
    "attacked-cross-entropy": bool,
    "attack-steps": int,
    "step-size": float,
    "entropy-attack": bool,
    "path-steps": int,
    "one-sided": bool,
    "epochs": int,
    "images": int,
    "batch": int,
    "rate": float,
    "rise": float,
    "decay": float,
    "momentum": float,
    "seed": int,
}
"""What a phase may set, under the names of the command's options, and of which type."""


def read_recipe(path: Path) -> list[dict[str, Any]]:
    """The settings of each phase of a recipe: a TOML file with a table [[phase]] for each.

    What stands above the tables holds for every phase that does not say otherwise.
    """
    try:
        stored = tomllib.loads(read_bytes(path).decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ArgumentError(f"expected a recipe in TOML, got {shown(path)}: {reason(error)}") from None
    tables = stored.pop("phase", None)
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise ArgumentError(f"expected a table [[phase]] for each phase in {shown(path)}")
    return [{**stored, **table} for table in tables]


def make_phase(settings: Mapping[str, Any], units: tuple[float, ...] | None = None) -> Phase:
    """The phase that settings describe.

    Args:
        settings: by the names in SETTINGS; what is missing has its default.
        units: of the inputs, for the noise.
    """
    values = {name.replace("-", "_"): _checked(name, value) for name, value in settings.items()}
    schedule = {part.name: values.pop(part.name) for part in fields(Schedule) if part.name in values}
    if {"epochs", "images"} <= set(schedule):
        raise ArgumentError("expected epochs or images, got both")
    noise = parse_noise(values.pop("noise"), units) if "noise" in values else None
    objective = make_objective(values.pop("objective", "standard"), noise, **values)
    return Phase(objective, Schedule(**schedule), noise)


def _checked(name: str, value: Any) -> Any:
    if name not in SETTINGS:
        raise ArgumentError(f"expected a setting ({', '.join(SETTINGS)}), got {name!r}")
    kind = SETTINGS[name]
    fits = (int, float) if kind is float else kind
    if not isinstance(value, fits) or (kind is not bool and isinstance(value, bool)) or _vast(value):
        raise ArgumentError(f"expected {name} to be {_WORDS[kind]}, got {value!r}")
    return kind(value)


def _vast(value: Any) -> bool:
    """TOML's whole numbers have no end; ours fit 64 bits."""
    return isinstance(value, int) and abs(value) >= 2**63
