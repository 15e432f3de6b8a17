"""Where the limit comes from: wrappers that bound a field, by construction, by proof or by assumption."""

from abc import abstractmethod
from typing import ClassVar, final

import torch
from torch import Tensor

from attribound import checks as check
from attribound.errors import ArgumentError, FieldError
from attribound.fields.base import Field, MapWrapper

_ROUNDING = 1e-5
"""Relative rounding error of float32 gradients, tolerated at a claimed limit."""


class Bounded(MapWrapper):
    """A field whose maps are never longer than `limit`. Values are float64.

    Attributes:
        base: the field that is bounded.
        limit: bound on the l2 norm of every map, anywhere.
        kind: "unit", "clip", "proved" or "assumed".
        source: in words, how the limit is known.
        assumed: whether the limit is only a guess, so that nothing built on it is a certificate.
    """

    kind: ClassVar[str]
    assumed: ClassVar[bool] = False

    def __init__(self, base: Field, limit: float) -> None:
        super().__init__(base)
        if isinstance(base, Bounded):
            raise FieldError(f"expected a field without a limit, got one bounded by {base.kind}")
        self.limit, self.features = float(check.limit(limit)), self.base.features

    @property
    @abstractmethod
    def source(self) -> str:
        """In words, how the limit is known."""

    @property
    def spec(self) -> str:
        """As people type it after `--bound`."""
        return f"{self.kind}:{self.limit!r}"

    @abstractmethod
    def bound(self, vectors: Tensor) -> Tensor:
        """Bring float64 vectors (B, m) within the limit."""

    @final
    def change(self, maps: Tensor) -> Tensor:
        """The wrapped maps in float64, brought within the limit row by row."""
        return self.bound(maps.flatten(1).double()).view(maps.shape)


def bounded(field: Field) -> Bounded:
    """The field, if it has a limit; a FieldError that says how to give it one."""
    if isinstance(field, Bounded):
        return field
    kind = type(field).__name__
    raise FieldError(f"expected a field with a limit, e.g. Unit({kind}(...)), got {kind}")


@final
class Unit(Bounded):
    """g / ||g||, and 0 where g = 0: limit 1 by construction. The default choice.

    NaN and infinite gradients stay NaN, so that the estimate stops with an error that names the draw.
    """

    kind = "unit"

    def __init__(self, base: Field, limit: float = 1.0) -> None:
        if limit != 1.0:
            raise ArgumentError(f"expected no other limit than 1 for Unit, got {limit:g}")
        super().__init__(base, limit)

    @property
    def spec(self) -> str:
        """As people type it."""
        return self.kind

    @property
    def source(self) -> str:
        """By construction."""
        return "by construction: every attribution is scaled to length 1"

    def bound(self, vectors: Tensor) -> Tensor:
        """Normalise each row; rows that are exactly zero stay zero."""
        return unit_rows(vectors)


def unit_rows(vectors: Tensor) -> Tensor:
    """Rows (B, m) scaled to length 1; rows that are exactly zero stay zero."""
    scaled, _ = _scaled(vectors)
    norms = torch.linalg.vector_norm(scaled, dim=1, keepdim=True)
    return scaled / torch.where(norms == 0, 1.0, norms)


@final
class Clip(Bounded):
    """g * min(1, limit / ||g||). The limit must be one number for the model, never chosen from the input."""

    kind = "clip"

    @property
    def source(self) -> str:
        """By construction."""
        return f"by construction: longer attributions are shortened to {self.limit:g}"

    def bound(self, vectors: Tensor) -> Tensor:
        """Shorten the rows that are too long."""
        scaled, largest = _scaled(vectors)
        norms = torch.linalg.vector_norm(scaled, dim=1, keepdim=True)
        return torch.where(norms * largest > self.limit, scaled * (self.limit / norms), vectors)


def _scaled(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Rows divided by their largest entry, and these entries: squares of the result neither vanish nor overflow."""
    largest = vectors.detach().abs().amax(dim=1, keepdim=True)
    return vectors / torch.where(largest == 0, 1.0, largest), largest


class _Claimed(Bounded):
    """A limit that the field is said to keep by itself; draws beyond it are an error in the estimate."""

    def __init__(self, base: Field, limit: float) -> None:
        super().__init__(base, limit)
        self.stated = base.stated

    @final
    def bound(self, vectors: Tensor) -> Tensor:
        """Excess that float32 gradients' rounding explains is cut off; anything longer stays, to be found out."""
        norms = torch.linalg.vector_norm(vectors, dim=1, keepdim=True)
        rounded = (norms > self.limit) & (norms <= self.limit * (1 + _ROUNDING))
        return vectors * torch.where(rounded, self.limit / norms, 1.0)


@final
class Proved(_Claimed):
    """The user has a proof of the limit, e.g. a 1-Lipschitz network; its reason is stored with every result."""

    kind = "proved"

    def __init__(self, base: Field, limit: float, reason: str = "") -> None:
        super().__init__(base, limit)
        if not reason.strip():
            raise ArgumentError("expected a `reason` for Proved: in a sentence, why the limit holds everywhere")
        self.reason = reason

    @property
    def source(self) -> str:
        """The author's reason."""
        return f"proved by its author, who states: {self.reason}"


@final
class Assumed(_Claimed):
    """A guess, e.g. the largest norm seen. NOT a certificate: every result says so."""

    kind = "assumed"
    assumed = True

    @property
    def source(self) -> str:
        """A warning."""
        return "ASSUMED, not proved: results are not certificates"
