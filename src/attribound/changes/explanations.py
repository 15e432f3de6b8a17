"""Whichever of these: other baselines, layers, background samples or trained models explain the same input."""

from collections.abc import Mapping, Sequence
from typing import Any, final

import torch
from torch import Tensor

from attribound.changes.base import Named
from attribound.errors import ArgumentError, FieldError
from attribound.fields.base import Explanation, Field, as_field, forward, innermost
from attribound.fields.bounded import Bounded
from attribound.fields.precision import in_precision
from attribound.fields.rows import check_evaluating
from attribound.hashes import model_hash


@final
class Explanations(Named):
    """The same input, explained by each of some other fields; the class that counts is that of their own models."""

    name = "explanations"
    unit = "other explanation"
    made = "the same input, explained by each of the other explanations listed"
    example = "ab.Explanations([ab.GradCAM(other)])"

    def __init__(self, others: Sequence[Field] | Mapping[str, Field]) -> None:
        """Take fields with maps of one shape; a limit of theirs is replaced by that of the field that is asked about.

        Args:
            others: the other explanations, with or without a name for each.
        """
        named = others if isinstance(others, Mapping) else {f"{k}: {one.name}": one for k, one in enumerate(others, 1)}
        self.fields = {label: _plain(as_field(one), label) for label, one in named.items()}
        if not self.fields:
            raise ArgumentError("expected at least one other explanation, got none")

    @property
    def labels(self) -> list[str]:
        """The explanations' names."""
        return list(self.fields)

    @property
    def versions(self) -> dict[str, str]:
        """Which models explained: the hashes of their weights."""
        return {f"explanation {label}": model_hash(innermost(one).model) for label, one in self.fields.items()}

    def apply(self, x: Tensor, t: Tensor) -> Tensor:
        """The input stays as it is."""
        return x.expand(len(t), *x.shape)

    def explain(self, field: Field, points: Tensor, t: Tensor, target: int, **how: Any) -> Explanation:
        """The other explanations, one by one: none may depend on which others stand beside it."""
        fields = list(self.fields.values())
        maps, logits = list[Tensor](), list[Tensor]()
        for row, number in zip(points.split(1), t.tolist(), strict=True):
            one = _as_precise(fields[round(number)], field)
            given = one.explain(row, target, **how)
            maps.append(given.maps)
            logits.append(forward(one.model, row) if given.logits is None else given.logits)
        shapes = {tuple(one.shape[1:]) for one in maps}
        if len(shapes) > 1:
            raise FieldError(f"expected explanations with maps of one shape, got {' and '.join(map(str, shapes))}")
        return Explanation(torch.cat(maps), torch.cat(logits))


def _as_precise(one: Field, asked: Field) -> Field:
    """In the precision of the field that is asked about, which records name; one of its own stays."""
    return in_precision(one, asked.precision) if one.precision == "float32" else one


def _plain(field: Field, label: str) -> Field:
    """The field without its limit, if trying it once is a proof."""
    if field.random or field.block > 1:
        raise FieldError(f"{label} draws random numbers of its own, so trying it once proves nothing")
    check_evaluating(field.model)
    return field.base if isinstance(field, Bounded) else field
