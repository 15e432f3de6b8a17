"""Any function as a field: maps of rows, from whatever makes them; no gradients."""

import inspect
from collections.abc import Callable
from typing import Any, final

import torch
from torch import Tensor

from attribound.errors import FieldError
from attribound.fields.base import Explanation, Field, Target, refuse_graph
from attribound.models.functions import Scores, Takes, called, check_takes

_LAST_BITS = 2.0**-17
"""Two answers that differ by more, relative to a row's largest number, are not one function's."""


@final
class Function(Field):
    """Your own function as a field: `Function(explain, predict, name="mine")`.

    Nothing in the theory needs gradients: any function of the input has a smoothed map and a certificate. Each row's
    map may depend on that row only. Round whole-number columns inside the function, in `explain` and in `predict`.
    """

    needs_gradients = False
    explains_scores = False

    def __init__(
        self,
        explain: Callable[..., Any],
        predict: Callable[[Any], Any],
        *,
        name: str = "function",
        takes: Takes = "numpy",
        random: bool = False,
        missing: bool = False,
        sha256: str = "",
    ) -> None:
        """Wrap two functions.

        Args:
            explain: rows (B, ...) to maps (B, ...); with an argument `target` it is told the explained class.
            predict: rows (B, ...) to scores (B, K); only their largest matters, the class.
            name: what records call the method.
            takes: "numpy" or "torch": what rows are given as.
            random: maps are random; then `explain` takes a `seed`, from which alone they follow, and every row needs
                randomness of its own.
            missing: rows may have missing cells (NaN), which stay missing under noise.
            sha256: hash of the file that the functions rest on; without one, nothing pins the model of a record.
        """
        self.model = Scores(predict, takes=takes, sha256=sha256)
        self.name, self.random, self.takes_missing = name, random, missing
        self._explain, self._takes = explain, check_takes(takes)
        self._told = _arguments(explain)
        if random and "seed" not in self._told:
            raise FieldError(f"expected explain(rows, seed) of a random {name}, got one without `seed`")
        self._shape: torch.Size | None = None

    def explain(
        self, inputs: Tensor, target: Target, *, generator: torch.Generator | None = None, create_graph: bool = False
    ) -> Explanation:
        """What the function says; the first answer is checked, and asked for twice."""
        refuse_graph(self, create_graph)
        arguments = self._arguments(target, generator)
        maps = self._maps(inputs, arguments)
        if self._shape is None:
            self._check(maps, self._maps(inputs, arguments))
            self._shape = maps.shape[1:]
        if maps.shape[1:] != self._shape:
            raise FieldError(
                f"expected {self.name} to return maps of shape {tuple(self._shape)} as before, got "
                f"{tuple(maps.shape[1:])}"
            )
        return Explanation(maps)

    def _arguments(self, target: Target, generator: torch.Generator | None) -> dict[str, Any]:
        every: dict[str, Any] = {"target": target}
        if isinstance(target, Tensor) and self._takes == "numpy":
            every["target"] = target.detach().cpu().numpy()
        if self.random:
            source = torch.Generator().manual_seed(0) if generator is None else generator
            every["seed"] = int(torch.randint(2**31 - 1, (), generator=source, device=source.device))
        return {name: value for name, value in every.items() if name in self._told}

    def _maps(self, inputs: Tensor, arguments: dict[str, Any]) -> Tensor:
        maps = called(self.name, self._explain, inputs, self._takes, **arguments)
        if maps.ndim < 2 or len(maps) != len(inputs):
            raise FieldError(
                f"expected {self.name} to return one map per row ({len(inputs)}, ...), got shape {tuple(maps.shape)}"
            )
        return maps if maps.is_floating_point() else maps.double()

    def _check(self, maps: Tensor, again: Tensor) -> None:
        """Raise FieldError for NaN and for another answer to the same question."""
        if not bool(torch.isfinite(maps).all()):
            row = int((~torch.isfinite(maps.flatten(1))).any(dim=1).nonzero()[0])
            raise FieldError(f"expected {self.name} to return finite numbers, got NaN or infinity in row {row}")
        first, second = maps.flatten(1).double(), again.flatten(1).double()
        if first.shape != second.shape or bool(
            ((first - second).abs() > _LAST_BITS * first.abs().amax(dim=1, keepdim=True)).any()
        ):
            hint = "draw from `seed` alone" if self.random else "if it is random, give random=True"
            raise FieldError(
                f"expected {self.name} to give the same answer each time, got another on the second call: {hint}"
            )


def _arguments(function: Callable[..., Any]) -> frozenset[str]:
    """Names of a function's arguments; none where Python cannot tell."""
    try:
        return frozenset(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return frozenset()
