"""One word of a text hidden."""

from collections.abc import Sequence
from typing import Self, final

import torch
from torch import Tensor

from attribound.changes.base import Switch
from attribound.errors import ArgumentError
from attribound.hashes import input_hash

_BLANK = "blank-"


@final
class HiddenWord(Switch):
    """Any one word of a text hidden; a text is its words' vectors (words, features)."""

    name = "hidden-word"
    title = "Any one word hidden"
    unit = "words hidden"
    example = "hidden-word"

    def __init__(self, words: Sequence[str] = (), blank: Tensor | None = None) -> None:
        """Hide words one by one.

        Args:
            words: the words themselves, to name them; default: their numbers.
            blank: (features,) the vector of no word; default: zeros.
        """
        self.words, self.blank = tuple(words), None if blank is None else blank.detach().clone()

    @property
    def spec(self) -> str:
        """Its name; a vector of no word that is not zero is named by its hash."""
        return self.name if self.blank is None else f"{self.name}:{_BLANK}{input_hash(self.blank)[:16]}"

    @property
    def made(self) -> str:  # type: ignore[override]
        """With what stands for no word."""
        blank = "zeros" if self.blank is None else f"the vector given for no word ({self.spec.partition(':')[2]})"
        return f"the vector of one word is replaced by {blank}"

    @classmethod
    def parse(cls, amount: str) -> Self:
        """Nothing but its name: a vector cannot be typed."""
        if amount.startswith(_BLANK):
            raise ArgumentError(f"{cls.name}:{amount} has a vector of its own for no word: make it in Python")
        return super().parse(amount)

    def check(self, x: Tensor) -> None:
        """Texts only."""
        if x.ndim != 2 or len(x) < 2:
            raise ArgumentError(f"hidden-word needs a text (words, features) of 2 words or more, got {tuple(x.shape)}")
        if self.words and len(self.words) != len(x):
            raise ArgumentError(f"expected one word per vector ({len(x)}), got {len(self.words)} words")
        if self.blank is not None and self.blank.shape != x.shape[1:]:
            raise ArgumentError(f"expected a `blank` of {x.shape[1]} features, got shape {tuple(self.blank.shape)}")

    def alternatives(self, x: Tensor) -> Tensor:
        """The number of the hidden word."""
        return torch.arange(len(x)).double()

    def places(self, t: Tensor) -> Tensor:
        """Each hides one word."""
        return torch.ones(len(t), dtype=torch.float64)

    def label(self, t: Tensor) -> str:
        """The word, or its number."""
        number = round(float(t))
        return repr(self.words[number]) if self.words else f"word {number + 1}"

    def apply(self, x: Tensor, t: Tensor) -> Tensor:
        """Replace one vector in each copy."""
        copies = x.repeat(len(t), 1, 1)
        blank = torch.zeros_like(x[0]) if self.blank is None else self.blank.to(x)
        copies[torch.arange(len(t)), t.long().to("cpu")] = blank
        return copies
