"""Where the limit comes from: wrappers that bound a field, by construction, by proof or by assumption."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Self, final

import torch
from torch import Tensor, nn

from attribound.bounds import arguments as check
from attribound.errors import ArgumentError, FieldError
from attribound.fields.base import Field

_ROUNDING = 1e-5
"""Relative rounding error of float32 gradients, tolerated at a claimed limit."""


@dataclass(frozen=True)
class Bounded(Field):
    """A field whose vectors are never longer than `limit`. Values are float64.

    Attributes:
        base: the field that is bounded.
        limit: bound on the l2 norm of every vector, anywhere.
        kind: "unit", "clip", "proved" or "assumed".
        source: in words, how the limit is known.
    """

    base: Field
    limit: float = 1.0
    kind = "bounded"

    def __post_init__(self) -> None:
        if not isinstance(self.base, Field):
            raise FieldError(f"expected a field such as Saliency(model), got {type(self.base).__name__}")
        if isinstance(self.base, Bounded):
            raise FieldError(f"expected a field without a limit, got one bounded by {self.base.kind}")
        check.positive("limit", self.limit)
        for shared in ("model", "name", "output", "cost", "block"):
            object.__setattr__(self, shared, getattr(self.base, shared))

    @property
    @abstractmethod
    def source(self) -> str:
        """In words, how the limit is known."""

    @abstractmethod
    def bound(self, vectors: Tensor) -> Tensor:
        """Bring float64 vectors (B, d) within the limit."""

    @property
    def assumed(self) -> bool:
        """Whether the limit is only a guess, so that nothing built on it is a certificate."""
        return False

    def attribute(
        self,
        inputs: Tensor,
        target: int,
        *,
        generator: torch.Generator | None = None,
        create_graph: bool = False,
    ) -> Tensor:
        """The wrapped attribution in float64, brought within the limit row by row."""
        values = self.base.attribute(inputs, target, generator=generator, create_graph=create_graph)
        return self.bound(values.flatten(1).double()).view(values.shape)

    def with_model(self, model: nn.Module) -> Self:
        """The same bounded method on another model."""
        return replace(self, base=self.base.with_model(model))


@final
@dataclass(frozen=True)
class Unit(Bounded):
    """g / ||g||, and 0 where g = 0: limit 1 for any model, no assumption. The default choice.

    NaN and infinite gradients stay NaN, so that the estimate stops with an error that names the draw.
    """

    limit: float = 1.0
    kind = "unit"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.limit != 1.0:
            raise ArgumentError(f"expected no other limit than 1 for Unit, got {self.limit:g}")

    @property
    def source(self) -> str:
        """By construction."""
        return "by construction: every attribution is scaled to length 1"

    def bound(self, vectors: Tensor) -> Tensor:
        """Normalise each row; rows that are exactly zero stay zero."""
        norms = torch.linalg.vector_norm(vectors, dim=1, keepdim=True)
        return vectors / torch.where(norms == 0, 1.0, norms)


@final
@dataclass(frozen=True)
class Clip(Bounded):
    """g * min(1, limit / ||g||). The limit must be one number for the model, never chosen from the input."""

    kind = "clip"

    @property
    def source(self) -> str:
        """By construction."""
        return f"by construction: longer attributions are shortened to {self.limit:g}"

    def bound(self, vectors: Tensor) -> Tensor:
        """Shorten the rows that are too long."""
        norms = torch.linalg.vector_norm(vectors, dim=1, keepdim=True)
        return vectors * torch.where(norms > self.limit, self.limit / norms, 1.0)


@dataclass(frozen=True)
class _Claimed(Bounded):
    """A limit that the field is said to keep by itself; draws beyond it are an error in the estimate."""

    def bound(self, vectors: Tensor) -> Tensor:
        """Excess that float32 gradients' rounding explains is cut off; anything longer stays, to be found out."""
        norms = torch.linalg.vector_norm(vectors, dim=1, keepdim=True)
        rounded = (norms > self.limit) & (norms <= self.limit * (1 + _ROUNDING))
        return vectors * torch.where(rounded, self.limit / norms, 1.0)

    @property
    def probability_gradient(self) -> bool:
        """As the wrapped field."""
        return self.base.probability_gradient


@final
@dataclass(frozen=True)
class Proved(_Claimed):
    """The user has a proof of the limit, e.g. a 1-Lipschitz network; its reason is stored with every result."""

    reason: str = ""
    kind = "proved"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.reason.strip():
            raise ArgumentError("expected a `reason` for Proved: in a sentence, why the limit holds everywhere")

    @property
    def source(self) -> str:
        """The user's reason."""
        return f"proved by the user: {self.reason}"


@final
@dataclass(frozen=True)
class Assumed(_Claimed):
    """A guess, e.g. the largest norm seen. NOT a certificate: every result says so."""

    kind = "assumed"

    @property
    def source(self) -> str:
        """A warning."""
        return "ASSUMED, not proved: results are not certificates"

    @property
    def assumed(self) -> bool:
        """True."""
        return True
