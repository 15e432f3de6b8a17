"""Objectives by the name that people type after `--objective`."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from attribound import checks as check
from attribound.errors import ArgumentError
from attribound.noise import Noise
from attribound.training.adversarial import Adversarial
from attribound.training.augmented import Augmented
from attribound.training.base import Objective
from attribound.training.bfloat16 import Bfloat16
from attribound.training.consistency import Consistency
from attribound.training.denoise import Denoise
from attribound.training.frozen_norm import FrozenNorm
from attribound.training.ig_norm import IgNorm
from attribound.training.igr import Igr
from attribound.training.noisy import WithNoise
from attribound.training.standard import Standard
from attribound.training.trades import Trades


def _igr(**options: Any) -> Igr:
    inner = {key: options.pop(key) for key in [part.name for part in fields(Trades)] if key in options}
    return Igr(trades=Trades(**inner), **options)


OBJECTIVES: dict[str, Callable[..., Objective]] = {
    "standard": Standard,
    "adversarial": Adversarial,
    "trades": Trades,
    "ig-norm": IgNorm,
    "igr": _igr,
}
"""Objectives on inputs as they are, or with noise; `noise` and `consistency` need it, `denoise` draws its own."""

NAMES = (*OBJECTIVES, "noise", "consistency", "denoise")

NORMS = ("mixed", "frozen")
"""Batch norm. Mixed: statistics of the batch in the loss, fixed ones in attacks and attributions. Frozen: all fixed."""

_SIZES = {"epsilon", "beta", "weight", "step_size"}
_COUNTS = {"attack_steps", "path_steps"}


def make_objective(
    name: str,
    noise: Noise | None = None,
    *,
    augment: bool = False,
    norm: str = "mixed",
    bfloat16: bool = False,
    **options: float | bool | None,
) -> Objective:
    """An objective by name.

    Args:
        name: one of NAMES.
        noise: added to every input; needed by `noise` and `consistency`.
        augment: shift and mirror the images too.
        norm: one of NORMS.
        bfloat16: compute in 16 bits where that is enough.
        options: fields of the objective, such as `epsilon`, as far as it has them; None and False are unset.
    """
    if name not in NAMES:
        raise ArgumentError(f"expected an objective ({', '.join(NAMES)}), got {name!r}")
    if norm not in NORMS:
        raise ArgumentError(f"expected `norm` {' or '.join(NORMS)}, got {norm!r}")
    given = {key: value for key, value in options.items() if value is not None and value is not False}
    for key in given:
        if key in _SIZES:
            check.non_negative(key, given[key])
        elif key in _COUNTS:
            check.count(key, given[key])
    if name == "denoise" and (noise is not None or augment or given or norm != "mixed"):
        raise ArgumentError("the objective 'denoise' draws its own noise and turns: leave the other options out")
    objective = _plain(name, noise, given)
    if norm == "frozen":
        objective = FrozenNorm(objective)
    if augment:
        objective = Augmented(objective)
    return Bfloat16(objective) if bfloat16 else objective


def _plain(name: str, noise: Noise | None, given: dict[str, Any]) -> Objective:
    """The objective itself, with its noise."""
    if name == "denoise":
        return Denoise()
    if name in ("noise", "consistency") and noise is None:
        raise ArgumentError(f"the objective {name!r} needs --noise gaussian:S or uniform:R")
    try:
        if name == "consistency":
            return Consistency(noise, **given)  # type: ignore[arg-type]
        base = Standard(**given) if name == "noise" else OBJECTIVES[name](**given)
    except TypeError:
        flags = ", ".join(f"--{key.replace('_', '-')}" for key in sorted(given))
        raise ArgumentError(f"the objective {name!r} does not know {flags}") from None
    return base if noise is None else WithNoise(base, noise)
