"""What is special about an input: its unit map less a frozen reference, the mean unit map of other inputs.

Photographs put their subject in the middle, so maps of different photographs are alike and a high cosine says little.
The reference is a constant of the field: it depends neither on the draws nor on the input that is certified.
"""

import base64
import binascii
import hashlib
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from attribound.errors import ArgumentError, FieldError, StoredDataError
from attribound.fields.base import Field, Wrapper
from attribound.fields.bounded import unit_rows
from attribound.fields.reshaped import Reshaped

MOST_CELLS = 4096
"""Every record holds the reference, so it may not be large."""


@final
class Relative(Reshaped):
    """Each map scaled to length 1, less the reference."""

    def __init__(self, base: Field, reference: Any, source: str = "given") -> None:
        """Compare a field's maps with those of other inputs.

        Args:
            base: a field.
            reference: in the shape of its maps: the mean unit map of inputs other than those that are certified, see
                `mean_unit_map`.
            source: where the reference comes from, for the records.
        """
        self.reference, self.source = _check_reference(reference), source
        self.sha256 = hashlib.sha256(_bytes(self.reference)).hexdigest()
        super().__init__(base, f"relative:{source}@{self.sha256[:16]}")
        if packed_reference(base) is not None:
            raise ArgumentError("expected one reference, got a field that is relative already")

    def change(self, maps: Tensor) -> Tensor:
        """(B, ...) to the same shape, in float64."""
        if maps[0].numel() != len(self.reference):
            raise FieldError(
                f"expected maps with {len(self.reference)} cells as in the reference, got {maps[0].numel()}"
            )
        units = unit_rows(maps.flatten(1).double())
        return (units - self.reference.to(maps.device).double()).view(maps.shape)


def mean_unit_map(maps: Tensor) -> Tensor:
    """The reference of maps (B, ...) of other inputs: the mean of what they are once scaled to length 1."""
    return unit_rows(maps.detach().flatten(1).double()).mean(dim=0).view(maps.shape[1:])


def packed_reference(field: Field) -> str | None:
    """The reference of a relative field as records hold it, float32 in base64; None if the field has none."""
    if isinstance(field, Relative):
        return base64.b64encode(_bytes(field.reference)).decode()
    return packed_reference(field.base) if isinstance(field, Wrapper) else None


def unpacked(packed: str, spec: str) -> Tensor:
    """The reference in a record; a StoredDataError unless it is the one that the map's spec names by its hash."""
    try:
        values = np.frombuffer(base64.b64decode(packed, validate=True), "<f4")
    except (binascii.Error, ValueError):
        raise StoredDataError("its reference is not float32 in base64") from None
    if hashlib.sha256(values.tobytes()).hexdigest()[:16] != spec.rpartition("@")[2]:
        raise StoredDataError(f"its reference is not the one of {spec}: the hash differs")
    return torch.from_numpy(values.copy())


def _bytes(reference: Tensor) -> bytes:
    return np.ascontiguousarray(reference.numpy(), "<f4").tobytes()


def _check_reference(reference: Any) -> Tensor:
    """The reference, flat, in float32 as it is stored."""
    try:
        values = torch.as_tensor(reference).detach().cpu().float().flatten().clone()  # whoever gave it may write to it
    except (TypeError, ValueError, RuntimeError):
        raise ArgumentError(f"expected `reference` to be a map, got {type(reference).__name__}") from None
    if not 0 < len(values) <= MOST_CELLS:
        raise ArgumentError(
            f"expected a `reference` of 1 to {MOST_CELLS:,} cells, got {len(values):,}: pool the map first"
        )
    if not bool(values.isfinite().all()):
        raise ArgumentError("expected a finite `reference`, got NaN or infinity in it")
    return values
