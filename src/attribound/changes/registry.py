"""Changes by the names that people type: rotation:30, zoom:20%, jpeg, everyday."""

import difflib
from collections.abc import Sequence

from torch import Tensor

from attribound.changes.base import Change
from attribound.changes.blur import Blur
from attribound.changes.brightness import Brightness, Warmth
from attribound.changes.contrast import Contrast
from attribound.changes.flip import Flip
from attribound.changes.gamma import Gamma
from attribound.changes.jpeg import Jpeg
from attribound.changes.rotation import Rotation
from attribound.changes.saturation import Saturation
from attribound.changes.shift import Axis, Shift
from attribound.changes.words import HiddenWord
from attribound.changes.zoom import Zoom
from attribound.errors import ArgumentError
from attribound.plugins import Registry
from attribound.suggest import did_you_mean

EVERYDAY = "everyday"
_SHIPPED: tuple[type[Change], ...] = (
    *(Rotation, Zoom, Contrast, Gamma, Blur, Saturation),
    *(Brightness, Warmth, Shift, Jpeg, Flip, HiddenWord),
)
CHANGES: Registry[type[Change]] = Registry("change", {kind.name: kind for kind in _SHIPPED})
"""A new change adds a file and a name above, or `register_change` from outside (docs/extend/change.md)."""

_AXES: dict[str, Axis] = {"shift-x": "x", "shift-y": "y"}
_SHIFT_PART = 10
"""Everyday pictures are shifted by a tenth of their width."""


def register_change(kind: type[Change]) -> type[Change]:
    """Let people type the name of a change of another package; usable as a decorator."""
    if not (isinstance(kind, type) and issubclass(kind, Change)):
        raise ArgumentError(f"expected a class of changes, got {kind!r}")
    name = getattr(kind, "name", "")
    if name in (EVERYDAY, *_AXES):
        raise ArgumentError(f"there is a change called {name!r} already")
    return CHANGES.register(name, kind)


def names() -> tuple[str, ...]:
    """All names that people may type."""
    return (*CHANGES, *_AXES, EVERYDAY)


def parse_change(spec: str) -> Change:
    """The change of one spec NAME or NAME:RANGE."""
    name, _, amount = spec.strip().partition(":")
    if name in _AXES:
        return Shift(Shift.parse(amount).pixels, axis=_AXES[name])
    if name not in CHANGES:
        near = difflib.get_close_matches(name, names(), n=1, cutoff=0.4)
        raise ArgumentError(f"expected a change ({', '.join(names())}), got {name!r}{did_you_mean(''.join(near))}")
    return CHANGES[name].parse(amount)


def make_changes(changes: Change | str | Sequence[Change | str], x: Tensor) -> tuple[Change, ...]:
    """The changes asked for, each fit for x, no name twice.

    Args:
        changes: changes or specs; "everyday" stands for a good set for pictures.
        x: the input.
    """
    asked = [changes] if isinstance(changes, Change | str) else list(changes)
    made: list[Change] = []
    for one in asked:
        if isinstance(one, str) and one.strip() == EVERYDAY:
            made += everyday(x)
        elif isinstance(one, Change | str):
            made.append(parse_change(one) if isinstance(one, str) else one)
        else:
            raise ArgumentError(f"expected a change such as Rotation(30) or 'rotation:30', got {one!r}")
    if not made:
        raise ArgumentError(f"expected at least one change ({', '.join(names())}), got none")
    check_once(made)
    for one in made:
        one.check(x)
    return tuple(made)


def check_once(changes: Sequence[Change]) -> None:
    """Raise ArgumentError if two changes have the same name."""
    names = [one.name for one in changes]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise ArgumentError(f"expected every change once, got {repeated} twice")


def everyday(x: Tensor) -> list[Change]:
    """What happens to pictures every day; colours only where there are some."""
    Rotation(1).check(x)
    colour: list[Change] = [Warmth(32)] if len(x) == 3 else []
    return [
        Rotation(30),
        Zoom(25),
        Contrast(2),
        Blur(2),
        Brightness(64),
        *colour,
        Shift(max(x.shape[2] // _SHIFT_PART, 1), axis="x"),
        Jpeg(),
    ]
