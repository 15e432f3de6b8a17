"""Objectives by the name that people type after `--objective`."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from attribound import checks as check
from attribound.errors import ArgumentError
from attribound.noise import Noise
from attribound.training.adversarial import Adversarial
from attribound.training.augmented import Augmented
from attribound.training.base import Objective
from attribound.training.consistency import Consistency
from attribound.training.denoise import Denoise
from attribound.training.ig_norm import IgNorm
from attribound.training.igr import Igr
from attribound.training.noisy import WithNoise
from attribound.training.standard import Standard
from attribound.training.trades import Trades

OBJECTIVES: dict[str, Callable[..., Objective]] = {
    "standard": Standard,
    "adversarial": Adversarial,
    "trades": Trades,
    "ig-norm": IgNorm,
    "igr": lambda epsilon=None, beta=None, **rest: Igr(trades=_changed(Trades(), epsilon=epsilon, beta=beta), **rest),
}
"""Objectives on inputs as they are, or with noise; `noise` and `consistency` need it, `denoise` draws its own."""

NAMES = (*OBJECTIVES, "noise", "consistency", "denoise")


def make_objective(
    name: str, noise: Noise | None = None, *, augment: bool = False, **options: float | bool | None
) -> Objective:
    """An objective by name.

    Args:
        name: one of NAMES.
        noise: added to every input; needed by `noise` and `consistency`.
        augment: shift and mirror the images too.
        options: `epsilon`, `beta`, `weight`, `attacked_cross_entropy`, as far as the objective has them; None is unset.
    """
    if name not in NAMES:
        raise ArgumentError(f"expected an objective ({', '.join(NAMES)}), got {name!r}")
    given: dict[str, Any] = {key: value for key, value in options.items() if value not in (None, False)}
    for key in {"epsilon", "beta", "weight"} & set(given):
        check.non_negative(key, given[key])
    if name == "denoise":
        if noise is not None or augment or given:
            raise ArgumentError("the objective 'denoise' draws its own noise and turns: leave the other options out")
        return Denoise()
    if name in ("noise", "consistency") and noise is None:
        raise ArgumentError(f"the objective {name!r} needs --noise gaussian:S or uniform:R")
    try:
        if name == "consistency":
            objective: Objective = Consistency(noise, **given)  # type: ignore[arg-type]
        else:
            base = Standard(**given) if name == "noise" else OBJECTIVES[name](**given)
            objective = base if noise is None else WithNoise(base, noise)
    except TypeError:
        raise ArgumentError(f"the objective {name!r} does not know --{', --'.join(sorted(given))}") from None
    return Augmented(objective) if augment else objective


def _changed(trades: Trades, **options: Any) -> Trades:
    return replace(trades, **{key: value for key, value in options.items() if value is not None})
