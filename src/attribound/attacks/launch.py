"""`attribound.attack`: the public edge of the attacks."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, final

from torch import Tensor

from attribound import checks as check
from attribound.attacks.base import Attack, AttackResult, make_problem
from attribound.attacks.direct import Direct
from attribound.attacks.ifia import Ifia
from attribound.attacks.likelihood import Likelihood
from attribound.attacks.random_directions import RandomDirections
from attribound.certification.arguments import AskedTarget, check_input, check_target, class_names, look_at
from attribound.errors import ArgumentError
from attribound.fields.base import Field, as_field
from attribound.fields.families import Around
from attribound.fields.rows import check_evaluating
from attribound.noise import Noise
from attribound.plugins import Registry
from attribound.progress import Wanted, meter
from attribound.threads import limited

_SHIPPED: tuple[type[Attack], ...] = (
    Direct,
    Ifia,
    Likelihood,
    RandomDirections,
)
"""Every attack; a new one adds a file and a line here, or `register_attack` from outside (docs/extend/attack.md)."""

METHODS: Registry[type[Attack]] = Registry("attack", {one.name: one for one in _SHIPPED})
"""Every attack by its name."""


def register_attack(kind: type[Attack]) -> type[Attack]:
    """Make an attack of another package known by its name; usable as a decorator."""
    return METHODS.register(kind.name, kind)


@final
@dataclass(frozen=True)
class Budget:
    """How hard to attack a certificate: which methods, with which options, and whether tightness is measured too."""

    methods: tuple[str, ...]
    options: dict[str, Any]
    tightness: bool = False


BUDGETS = {
    "quick": Budget(("direct",), {"restarts": 1, "steps": 8, "samples": 32, "rescore_samples": 2048}),
    "normal": Budget(tuple(METHODS), {"restarts": 2, "steps": 15, "samples": 64}),
    "thorough": Budget(tuple(METHODS), {"restarts": 20, "steps": 20, "samples": 64}, tightness=True),
}
"""Seconds, about a minute, and many minutes per certificate on a small network."""


def make_attacks(methods: Sequence[str] | None, options: dict[str, Any]) -> list[Attack]:
    """The named attacks with these options; all of them if none is named."""
    for name in methods or ():
        if name not in METHODS:
            raise ArgumentError(f"expected a method ({', '.join(METHODS)}), got {name!r}")
    return [METHODS[name](**options) for name in methods or METHODS]


def attack(
    field: Field,
    x: Tensor,
    target: AskedTarget = None,
    *,
    epsilon: float,
    noise: Noise | None = None,
    method: str = "ifia",
    seed: int = 0,
    classes: Sequence[str] = (),
    threads: int | None = 1,
    progress: Wanted = None,
    **options: Any,
) -> AttackResult:
    """Search for the change of l2 size up to epsilon that bends an explanation most.

    Args:
        field: the attribution, plain or bounded.
        x: one input.
        target: class whose explanation is attacked, by number or name; None: the predicted class.
        epsilon: l2 budget.
        noise: the smoothing noise; None attacks the plain map.
        method: "direct", "ifia", "likelihood" or "random".
        seed: seed of starts and noise.
        classes: names of the classes, so that `target` may be one; default: what the model calls them.
        threads: torch uses this many meanwhile; None: as many as torch is set to.
        progress: True for a bar, or a function that is called with (iterations done, iterations in all).
        options: of the method: steps, step_size, restarts, samples, keep_label, rescore_samples; for ifia also loss, k,
            towards.

    Returns:
        The worst found, scored with fresh noise on the true model.
    """
    if method not in METHODS:
        raise ArgumentError(f"expected `method` {', '.join(METHODS)}, got {method!r}")
    field = as_field(field)
    check_evaluating(field.model)
    x = check_input(x, missing=field.takes_missing)
    peek = look_at(field.model, x)
    try:
        chosen = METHODS[method](**options)
    except TypeError:
        known = ", ".join(one.name for one in fields(METHODS[method]))
        raise ArgumentError(f"expected options of {method} ({known}), got {', '.join(options)}") from None
    names, seed = tuple(classes) or class_names(field.model), check.whole("seed", seed)
    explained = peek.prediction if target is None else check_target(target, peek.classes, names)
    family = Around(field, explained, x.detach())
    with limited(None if threads is None else int(check.count("threads", threads))):
        problem = make_problem(family, noise, epsilon, samples=chosen.rescore_samples, seed=seed)
        return chosen.run(problem, seed, meter(progress, "attack"))
