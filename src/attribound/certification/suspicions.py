"""What is probably not meant: probabilities in place of logits, pixels up to 255, columns in another order.

A certificate of the wrong question is true and misleads. What cannot be meant is refused, what may be meant is said.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Any

import torch
from torch import Tensor

from attribound.errors import ArgumentError, FieldError
from attribound.fields.base import Field, Model, forward
from attribound.models.stated import stated_columns, stated_range

_FAR = 1e4
"""Times the noise: there even small logits have left [0, 1], and probabilities have not."""
_BRIGHT = 2.0
"""Pixels in [0, 1] are never brighter, not even after some noise."""


class Returned(Enum):
    """What the numbers of a model look like."""

    LOGITS = "logits"
    SHARES = "rows that sum to 1"
    ONE_SHARE = "one number in [0, 1]"
    UNIT = "numbers in [0, 1]"


def returned_by(model: Model, x: Tensor, near: Tensor) -> Returned:
    """What a model's outputs look like at noisy copies of an input and far away, where logits leave [0, 1].

    Args:
        model: the classifier.
        x: one input.
        near: (B, ...) noisy copies of it.
    """
    try:
        with torch.no_grad():
            logits = forward(model, torch.cat([near, x + _FAR * (near - x)])).double()
    except Exception:  # whatever a model raises far away from its data; near them, others will see it
        return Returned.LOGITS
    one = logits.shape[1] == 2 and torch.equal(logits[:, 0], -logits[:, 1])
    values = 2 * logits[:, 1:] if one else logits
    if not bool(((values >= 0) & (values <= 1)).all()) or bool((values == values[:1]).all()):
        return Returned.LOGITS
    if one:
        return Returned.ONE_SHARE
    sums, slack = values.sum(dim=1), 8 * values.shape[1] * torch.finfo(near.dtype).eps
    return Returned.SHARES if bool(((sums - 1).abs() <= slack).all()) else Returned.UNIT


def check_returned(returned: Returned, field: Field, *, target_given: bool) -> None:
    """Raise FieldError if a model's outputs cannot be the logits that the field explains."""
    output = field.output
    remedy = "wrap the model, attribound.models.FromProbabilities(model)"
    if returned is Returned.SHARES and field.explains_scores:
        raise FieldError(
            f"expected logits, got rows of probabilities that sum to 1: taken for logits, the explanation would be of "
            f"something else; {remedy}, or leave its softmax out"
        )
    if returned is Returned.ONE_SHARE and (output == "probability" or not target_given):
        raise FieldError(
            f"expected a logit, got one number in [0, 1] everywhere: taken for a logit, every input would be a yes; "
            f"{remedy}, or explain the number itself with target=1"
        )
    if returned is Returned.UNIT and output == "probability":
        raise FieldError(
            f"expected logits, got numbers in [0, 1] everywhere, whose softmax would be explained: explain the "
            f"'logit', which is the number itself, or, if they are one class's probabilities, {remedy}"
        )


def bright_pixels(model: Model, x: Tensor) -> str:
    """A line about a picture with pixels up to 255, else ""; raises ArgumentError if the model takes [0, 1]."""
    if x.ndim != 3 or len(x) not in (1, 3) or min(x.shape[1:]) < 8:
        return ""
    low, high = float(x.min()), float(x.max())
    if low < 0 or not _BRIGHT < high <= 255:
        return ""
    found = f"pixels from {low:g} to {high:g}"
    if stated_range(model) == (0.0, 1.0):
        raise ArgumentError(f"expected pixels in [0, 1], as the model takes them, got {found}: divide by 255")
    return f"note: {found}: noise and epsilon count these units; if the model takes [0, 1], divide by 255"


def check_columns(names: Sequence[str], model: Any, spec: str = "") -> None:
    """Raise ArgumentError if a model states its columns and the data's are others, or in another order.

    Args:
        names: the data's columns, empty if they have none.
        model: the model.
        spec: what was typed for it: a card beside a file of weights also states columns.
    """
    wanted = stated_columns(model, spec)
    if not names or not wanted or tuple(names) == wanted:
        return
    if sorted(names) == sorted(wanted):
        place = next(place for place, (one, other) in enumerate(zip(names, wanted, strict=True)) if one != other)
        raise ArgumentError(
            f"expected the columns in the model's order, got {names[place]!r} in place {place + 1}, where the model "
            f"has {wanted[place]!r}: type ?columns={','.join(wanted)}"
        )
    known = ", ".join(wanted[:10]) + ", ..." * (len(wanted) > 10)
    raise ArgumentError(f"expected the model's columns ({known}): the data {_difference(names, wanted)}")


def _difference(names: Sequence[str], wanted: Sequence[str]) -> str:
    """What the data's columns lack or have besides the model's, and what to type if that is all."""
    odd = [name for name in names if name not in wanted]
    if lacking := next((name for name in wanted if name not in names), None):
        return f"has {odd[0]!r} and lacks {lacking!r}" if odd else f"lacks {lacking!r}"
    if len(odd) == 1:
        return f"also has {odd[0]!r}: type ?label={odd[0]} if it holds the labels, else ?drop={odd[0]}"
    return f"also has {', '.join(map(repr, odd))}: type ?label=NAME for the labels and ?drop=A,B for the others"
