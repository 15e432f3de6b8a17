"""The subject: what exactly is explained. It is part of every record, certificate and saved case."""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType


class Subject(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Model, input, method, bound, noise and seed, as people type them, with the hashes that pin them down.

    What was certified in Python has no spec for its model and data (""): it is opened by naming them again.

    Attributes:
        model: what was typed after --model.
        arch: architecture of a file of weights.
        denoiser: what was typed after --denoiser.
        model_sha256: hash of the model's weights.
        code_sha256: hash of the model's program, if it is a script, an exported program or a factory.
        data: what was typed after --data.
        item: number of the input in the data.
        input: what people call the input: its file, its row's identifier; empty if it has no name.
        input_sha256: hash of the input.
        attribution: method.
        maps: shapes that were applied to the method's map, in order.
        reference: that of a relative map, float32 in base64; unset for all others.
        output: "logit" or "probability".
        precision: in which the model was run, "float32" (as it is), "bfloat16" or "float16".
        bound: how the limit is known, e.g. "unit" or "clip:2.0".
        noise: e.g. "gaussian:0.5".
        units: units per feature, if the noise has them.
        changes: what happens to the input, one after the other, if noise is on the amounts of changes: each counts the
            amount that it names. Unset: noise is on the input itself.
        seed: seed of the draws.
    """

    model: str = ""
    arch: str | None = None
    denoiser: str | None = None
    model_sha256: str = ""
    code_sha256: str = ""
    data: str = ""
    item: int = 0
    input: str = ""
    input_sha256: str = ""
    attribution: str = "saliency"
    maps: tuple[str, ...] = ()
    reference: str | UnsetType = UNSET
    output: str = "logit"
    precision: Literal["float32", "bfloat16", "float16"] = "float32"
    bound: str = "unit"
    noise: str = ""
    units: tuple[float, ...] | None = None
    changes: tuple[str, ...] | UnsetType = UNSET
    seed: int = 0


def called(item: int | str, name: str = "") -> str:
    """An input as people know it: its number, and its name if it has one."""
    return f"item {item} ({name})" if name else f"item {item}"


def paired(items: tuple[int, int], name: str = "") -> str:
    """An input of two runs: its number, or its two, and its name if it has one."""
    first, second = items
    numbers = str(first) if first == second else f"{first} / {second}"
    return f"{numbers} ({name})" if name else numbers
