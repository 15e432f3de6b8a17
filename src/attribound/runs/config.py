"""What a run is: everything that its records follow from."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, final

from attribound.errors import StoredDataError

_MAY_GROW = frozenset({"items", "pictures"})
"""Asking for more inputs continues a run: the records it has do not depend on how many there are."""


@final
@dataclass(frozen=True)
class RunConfig:
    """The full configuration of a run.

    Attributes:
        model: what was typed after --model.
        data: what was typed after --data.
        arch: architecture of a file of weights.
        attribution: method, e.g. "saliency".
        output: "logit" or "probability".
        bound: "unit", "clip:L", "proved:L" or "assumed:L".
        noise: "uniform:R" or "gaussian:S".
        samples: draws per input.
        alpha: failure probability per record.
        epsilons: each record states its certified cosine at these.
        cosines: each record states its largest epsilon at these.
        items: how many inputs; None: all.
        shuffle: take them in an order shuffled by the seed.
        seed: seed of the draws.
        pictures: for how many inputs pictures are kept.
        device: where the model runs.
        model_sha256: hash of the model's weights.
        data_sha256: hash of the data set.
        code_sha256: hash of the model's program, if it is a script, an exported program or a factory.
    """

    model: str
    data: str
    arch: str | None = None
    attribution: str = "saliency"
    output: str = "logit"
    bound: str = "unit"
    noise: str = "gaussian:0.5"
    samples: int = 4096
    alpha: float = 1e-3
    epsilons: tuple[float, ...] = (0.1, 0.25, 0.5)
    cosines: tuple[float, ...] = (0.8, 0.9)
    items: int | None = None
    shuffle: bool = False
    seed: int = 0
    pictures: int = 200
    device: str = "cpu"
    model_sha256: str = ""
    data_sha256: str = ""
    code_sha256: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any], name: str) -> "RunConfig":
        """The configuration in a stored run."""
        try:
            lists: dict[str, Any] = {
                key: tuple(float(value) for value in stored[key]) for key in ("epsilons", "cosines")
            }
            plain = {field.name: stored[field.name] for field in fields(cls) if field.name not in lists}
        except (KeyError, TypeError, ValueError) as error:
            raise StoredDataError(f"{name} is not a run: its configuration lacks {error}") from None
        for key, value in plain.items():
            if not isinstance(value, str | int | float | bool | None):
                raise StoredDataError(f"{name} is not a run: its {key} is {type(value).__name__}")
        return cls(**plain, **lists)

    def including(self, other: "RunConfig") -> "RunConfig":
        """This configuration, grown to cover as many inputs and pictures as the other."""
        items = None if None in (self.items, other.items) else max(self.items or 0, other.items or 0)
        return replace(self, items=items, pictures=max(self.pictures, other.pictures))

    def difference(self, wanted: "RunConfig") -> str:
        """What a wanted configuration changes, as `samples 1024 -> 2048`; empty if it may continue this one."""
        mine, theirs = asdict(self), asdict(wanted)
        changed = [key for key in mine if key not in _MAY_GROW and mine[key] != theirs[key]]
        return ", ".join(f"{key} {_short(mine[key])} -> {_short(theirs[key])}" for key in changed)


def _short(value: Any) -> str:
    text = str(value)
    return text[:12] if len(text) == 64 else text
