"""What a run is: everything that its records follow from."""

from typing import Any, Literal

import msgspec
from msgspec import Struct

from attribound.bounds.budgets import Budget
from attribound.certificates.statements.base import COSINES, EPSILONS
from attribound.certificates.subject import Subject
from attribound.errors import StoredDataError
from attribound.tolerances.columns.record import PART, Asked

_PINNED = frozenset({"reference"})
"""What the maps name by its hash."""
_MEASURED = frozenset({"batch"})
"""A run that goes on keeps what it measured when it began."""
_MAY_GROW = frozenset({"items", "pictures"})
"""Asking for more inputs continues a run: the records it has do not depend on how many there are."""


class RunConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The full configuration of a run.

    Attributes:
        model: what was typed after --model.
        data: what was typed after --data.
        arch: architecture of a file of weights.
        denoiser: what was typed after --denoiser.
        attribution: method, e.g. "saliency".
        maps: shapes applied to the method's map, in order.
        reference: that of a relative map, float32 in base64.
        output: "logit" or "probability".
        precision: in which the model is run, "float32" (as it is), "bfloat16" or "float16".
        bound: "unit", "clip:L", "proved:L" or "assumed:L".
        noise: "uniform:R" or "gaussian:S".
        units: what noise and epsilon count for each feature, where the data say it (`?scale=`); None: 1 for all.
        words: of a forest, by column the categories that its file names; None: cells of a table are numbers.
        changes: specs of everyday changes. Without noise a run of tolerances, one record per input and change; with
            noise, which is then on their amounts, certificates about combinations of them.
        columns: what is asked about the columns of a table: a run of exact tolerances, one record per row.
        scanned: how many of the changes are scanned, and share alpha.
        windows: half-widths of the scans' windows by the name of the change, in its unit, where not the default.
        against: what maps of scanned changes are compared with, "shown" or "plain".
        target: class that is explained, by number or name; None: each input's predicted class.
        samples: draws per input.
        asked: further statements by name, e.g. {"cells": [0.5, 0.3], "reasons": 4}.
        alpha: failure probability of all that is said about one input.
        simultaneous: how many records share one alpha of `simultaneous * alpha`, so that all are true at once with
            probability 1 - that; 0: each record has its own alpha.
        epsilons: each record states its certified cosine at these.
        cosines: each record states its largest epsilon at these.
        items: how many inputs; None: all.
        shuffle: take them in an order shuffled by the seed.
        seed: seed of the draws.
        pictures: for how many inputs pictures are kept.
        device: where the model runs.
        batch: most rows per model call, as measured when the run began; None: sized by the input.
        model_sha256: hash of the model's weights.
        data_sha256: hash of the data set.
        code_sha256: hash of the model's program, if it is a script, an exported program or a factory.
    """

    model: str
    data: str
    arch: str | None = None
    denoiser: str | None = None
    attribution: str = "saliency"
    maps: tuple[str, ...] = ()
    reference: str | None = None
    output: str = "logit"
    precision: Literal["float32", "bfloat16", "float16"] = "float32"
    bound: str = "unit"
    noise: str = "gaussian:0.5"
    units: tuple[float, ...] | None = None
    words: dict[str, tuple[str, ...]] | None = None
    changes: tuple[str, ...] = ()
    columns: Asked | None = None
    scanned: int = 0
    windows: dict[str, float] = {}
    against: Literal["shown", "plain"] = "shown"
    target: str | None = None
    samples: int = 4096
    asked: dict[str, Any] = {}
    alpha: float = 1e-3
    simultaneous: int = 0
    epsilons: tuple[float, ...] = EPSILONS
    cosines: tuple[float, ...] = COSINES
    items: int | None = None
    shuffle: bool = False
    seed: int = 0
    pictures: int = 200
    device: str = "cpu"
    batch: int | None = None
    model_sha256: str = ""
    data_sha256: str = ""
    code_sha256: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found

    @classmethod
    def from_json(cls, stored: Any, name: str) -> "RunConfig":
        """The configuration in a stored run."""
        try:
            return msgspec.convert(stored, cls)
        except msgspec.ValidationError as error:
            raise StoredDataError(f"{name} is not a run: its configuration is broken: {error}") from None

    @property
    def size(self) -> str:
        """What epsilon counts, in words."""
        return Budget(self.units, self.together).measure

    @property
    def together(self) -> tuple[str, ...]:
        """The changes, if noise is on their amounts; empty if it is on the inputs, or if there is none."""
        return self.changes if self.noise else ()

    @property
    def kind(self) -> str:
        """What the run's records are."""
        if self.columns is not None:
            return PART
        return "tolerance" if self.changes and not self.noise else "certify"

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts in which an input is dealt with: the names of the changes, or one part without a name."""
        return tuple(spec.partition(":")[0] for spec in self.changes) if self.kind != "certify" else ("",)

    @property
    def varied(self) -> tuple[str, str]:
        """What is done to inputs: a word for it, and what was typed."""
        changes = ", ".join(self.changes)
        if self.kind != "certify":
            return "changes", changes
        return "noise", f"{self.noise} on {changes}" if changes else self.noise

    @property
    def network(self) -> str:
        """What is explained, for people: the model, and the denoiser in front of it."""
        return self.model if self.denoiser is None else f"{self.model} behind {self.denoiser}"

    @property
    def method(self) -> str:
        """How maps are made, for people: the method, what is done to its map, and the model's precision."""
        rounded = () if self.precision == "float32" else (f"in {self.precision}",)
        return " ".join((self.attribution, *self.maps, *rounded))

    @property
    def subject(self) -> Subject:
        """What the run's records are about; each adds its own input."""
        return Subject(
            model=self.model,
            arch=self.arch,
            denoiser=self.denoiser,
            model_sha256=self.model_sha256,
            code_sha256=self.code_sha256,
            data=self.data,
            attribution=self.attribution,
            maps=self.maps,
            reference=self.reference or msgspec.UNSET,
            output=self.output,
            precision=self.precision,
            bound=self.bound,
            noise=self.noise,
            units=self.units,
            changes=self.together or msgspec.UNSET,
            seed=self.seed,
        )

    def including(self, other: "RunConfig") -> "RunConfig":
        """This configuration, grown to cover as many inputs and pictures as the other, whose measures it keeps."""
        items = None if None in (self.items, other.items) else max(self.items or 0, other.items or 0)
        pictures = max(self.pictures, other.pictures)
        return msgspec.structs.replace(self, items=items, pictures=pictures, batch=other.batch)

    def difference(self, wanted: "RunConfig") -> str:
        """What a wanted configuration changes, as `samples 1024 -> 2048`; empty if it may continue this one."""
        fixed = _PINNED | _MEASURED | _MAY_GROW - ({"items"} if self.simultaneous or wanted.simultaneous else set())
        mine, theirs = self.to_json(), wanted.to_json()
        changed = [key for key in mine if key not in fixed and mine[key] != theirs[key]]
        return ", ".join(f"{key} {_short(mine[key])} -> {_short(theirs[key])}" for key in changed)


def _short(value: Any) -> str:
    text = str(value)
    return text[:12] if len(text) == 64 else text
