"""The same row in the same slot of a batch of the same shape, beside other rows: equal to the bit, or it sees them.

A kernel adds one row's numbers in one order, whatever the other rows hold, so the comparison needs no tolerance. Some
backends add in no fixed order. There identical calls differ too, and a few times that measured difference is allowed.
"""

from dataclasses import dataclass
from typing import Literal, final

import torch
from torch import Tensor

from attribound.errors import FieldError
from attribound.fields.base import Explanation, Field
from attribound.fields.families import Family, Side

Seen = Literal["same", "unsteady", "outputs", "maps"]
"""What an exchange shows: nothing; identical calls differ; outputs, or only maps, change with the other rows."""

_LAST_BITS = 2.0**-17
"""Identical calls that differ by more, relative to a row's largest number, are not one function: 64 float32 units."""
_REPEATS, _SPARE = 3, 4.0
"""Identical calls made once a difference shows, and how many times the largest of theirs is allowed."""
_OFFSET_ROUNDING = 2.0**-20
"""Rounding of a number common to all classes, relative to it: such a number cancels wherever classes are compared."""


@final
@dataclass(frozen=True)
class Call:
    """One call of a field, with all that is needed to make it again.

    Attributes:
        family: the maps, with their shape and limit.
        shifts: (B, ...) the changes of the batch.
        state: of the generator before the call: a row's own randomness is the same when the call is made again.
        answer: final maps, and outputs where they were asked for.
    """

    family: Family
    shifts: Tensor
    state: Tensor
    answer: Explanation

    @staticmethod
    def make(family: Family, shifts: Tensor, generator: torch.Generator, *, outputs: bool) -> "Call":
        """Ask for the maps of a batch, and for the model's outputs if the method does not give them."""
        state = generator.get_state()
        with torch.enable_grad():
            given = family.explain(shifts, generator=generator, outputs=outputs)
        return Call(family, shifts, state, Explanation(given.maps.detach(), given.logits if outputs else None))

    def again(self, shifts: Tensor) -> Explanation:
        """What the same call says about other changes, with the same randomness in each slot."""
        generator = torch.Generator(shifts.device)
        generator.set_state(self.state)
        outputs = self.answer.logits is not None
        return Call.make(self.family, shifts, generator, outputs=outputs).answer

    def exchange(self, kept: Tensor, side: Side) -> Seen:
        """Move all other rows far away, and see whether the kept ones change.

        Args:
            kept: numbers of the rows that stay.
            side: where the others go; see `Family.exchanged`.
        """
        other = self.again(self.family.exchanged(self.shifts, kept, side))
        if _equal(self.answer, other, kept):
            return "same"
        # Only now are identical calls worth their cost.
        repeats = [self.again(self.shifts.clone()) for _ in range(_REPEATS)]
        every = torch.arange(len(self.shifts), device=kept.device)
        outputs, maps = (max(_differ(self.answer, repeat, every)[part] for repeat in repeats) for part in (0, 1))
        if max(outputs, maps) > _LAST_BITS:
            return "unsteady"
        outputs_changed, maps_changed = _differ(self.answer, other, kept)
        if outputs_changed > _SPARE * outputs + _OFFSET_ROUNDING:
            return "outputs"
        return "maps" if maps_changed > _SPARE * maps else "same"


def refuse(field: Field, seen: Seen) -> None:
    """Raise, in one line that says what was seen, unless rows stayed the same."""
    if seen == "unsteady":
        hint = "draw all randomness from `generator`" if field.random else "a model must not change while it is sampled"
        raise FieldError(
            f"expected a model whose answer for an input is always the same, whatever else is in the batch: "
            f"{field.name} gave another map or output when the same call was made again, so its attributions "
            f"are not independent draws ({hint})"
        )
    if seen != "same":
        what = "its output" if seen == "outputs" else f"the map of {field.name}"
        raise FieldError(
            "expected a model whose answer for an input is always the same, whatever else is in the batch: "
            f"{what} for the same input changes with the batch around it, so its attributions are not independent draws"
        )


def check_unchanged(field: Field, before: Tensor, now: Tensor) -> None:
    """Raise if the same question got another answer after the sampling than before it: the model changed for good.

    Args:
        field: whose model it is.
        before: (B, ...) outputs or maps.
        now: the same again.
    """
    if before.shape != now.shape:
        refuse(field, "unsteady")
    if _largest(before.flatten(1).double(), now.flatten(1).double(), centred=False) > _LAST_BITS:
        refuse(field, "unsteady")


def _equal(first: Explanation, second: Explanation, rows: Tensor) -> bool:
    pairs = [(first.maps, second.maps)]
    if first.logits is not None and second.logits is not None:
        pairs.append((first.logits, second.logits))
    return all(torch.allclose(one[rows], two[rows], rtol=0, atol=0, equal_nan=True) for one, two in pairs)


def _differ(first: Explanation, second: Explanation, rows: Tensor) -> tuple[float, float]:
    """The largest differences of outputs and maps, relative to each row's largest number."""
    maps = _largest(first.maps[rows].flatten(1).double(), second.maps[rows].flatten(1).double(), centred=False)
    if first.logits is None or second.logits is None:
        return 0.0, maps
    return _largest(first.logits[rows].double(), second.logits[rows].double(), centred=True), maps


def _largest(first: Tensor, second: Tensor, *, centred: bool) -> float:
    """The largest change relative to its row, without what is common to the row if `centred`."""
    finite = first.isfinite()
    if not torch.equal(finite, second.isfinite()):
        return torch.inf
    if not torch.equal(first[~finite].nan_to_num(), second[~finite].nan_to_num()):
        return torch.inf
    first, second = (torch.where(finite, values, 0.0) for values in (first, second))
    size = torch.maximum(first.abs(), second.abs()).amax(dim=1, keepdim=True)
    change = first - second
    if centred:
        mean = change.sum(dim=1, keepdim=True) / finite.sum(dim=1, keepdim=True).clamp(min=1)
        change = torch.where(finite, change - mean, 0.0)
    return float((change / torch.where(size == 0, 1.0, size)).abs().max())
