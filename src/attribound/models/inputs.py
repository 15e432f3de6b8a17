"""Models of several inputs: one is explained, the others are fixed."""

from typing import Any, final

from torch import Tensor, nn

from attribound.errors import ArgumentError


@final
class Fixed(nn.Module):
    """A model with all inputs but one fixed.

    `Fixed(model, mask)` explains the first of two, `Fixed(model, ids, at=1)` the second, and
    `Fixed(bert, at="inputs_embeds", attention_mask=mask)` explains an input by its name. Fixed tensors are for one
    input, with a leading dimension of 1, as the model takes them; they are repeated for a batch.
    """

    def __init__(self, model: nn.Module, *others: Any, at: int | str = 0, **named: Any) -> None:
        """Fix inputs.

        Args:
            model: takes several inputs.
            others: the other positional inputs, in order.
            at: place or name of the input that is explained.
            named: the other inputs by name.
        """
        super().__init__()
        if isinstance(at, int) and not 0 <= at <= len(others):
            raise ArgumentError(f"expected `at` in 0..{len(others)} or a name, got {at}")
        if at in named:
            raise ArgumentError(f"{at!r} is explained and cannot be fixed as well")
        self.model, self.at = model, at
        self._places = [self._keep(f"fixed_{place}", value) for place, value in enumerate(others)]
        self._names = {name: self._keep(f"fixed_{name}", value) for name, value in named.items()}
        self.train(model.training)

    def forward(self, inputs: Tensor) -> Any:
        """(B, ...) to whatever the model returns."""
        places = [self._repeated(kept, len(inputs)) for kept in self._places]
        names = {name: self._repeated(kept, len(inputs)) for name, kept in self._names.items()}
        if isinstance(self.at, str):
            return self.model(*places, **names, **{self.at: inputs})
        return self.model(*places[: self.at], inputs, *places[self.at :], **names)

    def _keep(self, name: str, value: Any) -> Any:
        """Tensors become buffers: they move with the model, and its hash knows them."""
        if not isinstance(value, Tensor):
            return value
        if value.ndim == 0 or len(value) != 1:
            raise ArgumentError(
                f"expected fixed tensors of one input, (1, ...), got shape {tuple(value.shape)}: try value[:1] or "
                f"value[None]"
            )
        self.register_buffer(name, value.detach())
        return _Buffer(name)

    def _repeated(self, kept: Any, rows: int) -> Any:
        if not isinstance(kept, _Buffer):
            return kept
        value = self.get_buffer(kept)
        return value.expand(rows, *value.shape[1:])


class _Buffer(str):
    """The name of a buffer that holds a fixed tensor."""
