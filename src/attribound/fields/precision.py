"""The precision in which a model is run. What is certified is then the map of the model in that precision.

Products and convolutions in bfloat16 (torch's autocast) are about three times as fast where the processor has the
instructions. Maps leave this wrapper in float32 at least: a length computed in bfloat16 may be wrong by 0.4 %.
"""

import statistics
from contextlib import AbstractContextManager
from typing import Any, TypeVar, cast, final

import torch
from torch import Tensor, nn

from attribound.errors import ArgumentError, FieldError
from attribound.fields.base import Explanation, Field, Model, RunIn, Target, Wrapper, check_explanation, forward
from attribound.fields.bounded import Proved
from attribound.fields.pace import seconds

PRECISIONS: tuple[RunIn, ...] = ("float32", "bfloat16", "float16")

_INSTRUCTIONS = ("avx512_bf16", "amx_bf16", "arm_bf16", "bf16")
"""Any of these makes bfloat16 fast, as `torch.cpu.get_capabilities` names them."""

_PROBED, _ROUNDS, _PAYS = 8, 3, 1.3
"""Maps per call and calls of the probe, and how many times as fast bfloat16 must be to be recommended."""

F = TypeVar("F", bound=Field)


def check_precision(precision: str) -> str:
    """The precision, if it is one of PRECISIONS."""
    if precision not in PRECISIONS:
        raise ArgumentError(f"expected `precision` 'float32', 'bfloat16' or 'float16', got {precision!r}")
    return precision


def in_precision(field: F, precision: str) -> F:
    """The same field with its model run in another precision.

    Args:
        field: any field; a limit and shapes of the map stay around it.
        precision: one of PRECISIONS.
    """
    if check_precision(precision) == field.precision:
        return field
    if isinstance(field, Rounded):
        return cast("F", in_precision(field.base, precision))
    if isinstance(field, Proved) and precision != "float32":
        raise FieldError(
            f"expected the bound unit or clip with precision {precision}: a limit proved for exact maps need not hold "
            "for rounded ones"
        )
    if isinstance(field, Wrapper):
        return cast("F", field.around(in_precision(field.base, precision)))
    return cast("F", Rounded(field, cast("RunIn", precision)))


def slow_here(precision: str, device: str | torch.device) -> str:
    """A line that says so if a precision saves no time on a device; empty if it does or that is unknown.

    An ArgumentError for float16 on a processor, which has no products in it.
    """
    if precision == "float16" and torch.device(device).type == "cpu":
        raise ArgumentError("expected `precision` 'float32' or 'bfloat16' on a processor: float16 is for accelerators")
    if precision == "float32" or torch.device(device).type != "cpu":
        return ""
    known = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    if not known or any(known.get(name) for name in _INSTRUCTIONS):
        return ""
    return f"note: this processor has no {precision} instructions: float32 is faster here"


@final
class Rounded(Wrapper):
    """A method whose model is run in 16 bits; maps and logits are float32 again.

    Facts that were stated about the exact method are not stated about this one.
    """

    def __init__(self, base: Field, precision: RunIn = "bfloat16") -> None:
        super().__init__(base)
        self._precision = precision
        if not isinstance(base.model, nn.Module) or next(base.model.parameters(), None) is None:
            raise FieldError(
                f"expected a torch module with weights for precision {self.precision}, got {type(base.model).__name__}"
            )
        self.model = RoundedModel(base.model, precision)

    @property
    def precision(self) -> RunIn:  # type: ignore[override]
        """Its own."""
        return self._precision

    def explain(
        self, inputs: Tensor, target: Target, *, generator: torch.Generator | None = None, create_graph: bool = False
    ) -> Explanation:
        """The method's maps of the rounded model."""
        if inputs.dtype == torch.float64:  # autocast leaves float64 alone
            raise FieldError(f"expected float32 inputs for precision {self.precision}, got float64")
        with _rounding(inputs, self.precision):
            given = self.base.explain(inputs, target, generator=generator, create_graph=create_graph)
        plain = check_explanation(given, self.base, len(inputs))
        return Explanation(_widened(plain.maps), None if plain.logits is None else _widened(plain.logits))


@final
class RoundedModel(nn.Module):
    """A model run in 16 bits, with logits in float32."""

    def __init__(self, model: Model, precision: RunIn = "bfloat16") -> None:
        super().__init__()
        self.model, self.precision = model, precision
        self.train(getattr(model, "training", False))

    def forward(self, inputs: Tensor) -> Tensor:
        """(B, ...) to logits (B, K)."""
        with _rounding(inputs, self.precision):
            return _widened(forward(self.model, inputs))


def advice(field: Field, x: Tensor) -> str:
    """A line that says whether bfloat16 pays for a field here: a few maps in each precision, by the clock.

    Args:
        field: any field in float32; empty for what cannot be run in another precision.
        x: an input.
    """
    try:
        rounded = in_precision(field, "bfloat16")
    except FieldError:
        return ""
    if line := slow_here("bfloat16", x.device):
        return line
    rows = _PROBED * field.block
    pairs = [(seconds(field, x, rows), seconds(rounded, x, rows)) for _ in range(_ROUNDS + 1)]
    gain = statistics.median(exact / short for exact, short in pairs[1:])  # the first round warms up
    if gain < _PAYS:
        return ""
    return f"note: maps in bfloat16 are {gain:.1f} times as fast here (--precision bfloat16)"


def as_said(inputs: Tensor) -> AbstractContextManager[Any]:
    """Without the caller's autocast: a model is run in the precision that its field says, and records name."""
    return torch.autocast(inputs.device.type, enabled=False)


def _rounding(inputs: Tensor, precision: RunIn) -> AbstractContextManager[Any]:
    # Without the cache: weights cast where no gradient is wanted would be used again where one is.
    return torch.autocast(inputs.device.type, getattr(torch, precision), cache_enabled=False)


def _widened(values: Tensor) -> Tensor:
    return values.to(torch.promote_types(values.dtype, torch.float32))
