"""From a configuration to the job of a run of tolerances."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import msgspec
import torch
from torch import Tensor

from attribound.bounds.scan import plan_grid
from attribound.changes.base import Change, Continuous, Finite
from attribound.changes.registry import EVERYDAY, make_changes, parse_change
from attribound.errors import NonFiniteError
from attribound.fields.bounded import Bounded
from attribound.randomness import Purpose, stream
from attribound.runs.config import RunConfig
from attribound.runs.job import Job
from attribound.runs.runner import check_settings, close_run, first_input, open_run
from attribound.sampling.along import Along
from attribound.sampling.scan import PILOT
from attribound.tolerances.asker import Window, check_cosines, check_windows


def prepare_tolerances(
    config: RunConfig, *, trust: bool = False, say: Callable[[str], None] = lambda line: None
) -> tuple[RunConfig, Job]:
    """Check a configuration against its model and data before anything is written.

    Args:
        config: what is asked for; its changes are as typed.
        trust: load programs too.
        say: told, in a line, what is odd but not wrong and what is done to pictures.
    """
    check_settings(config)
    for spec in config.changes:
        if spec != EVERYDAY:  # a typo need not wait for the model
            parse_change(spec)
    opened = open_run(config, trust=trust, say=say)
    x = first_input(opened.data, config.device)
    made = make_changes(config.changes, torch.zeros(opened.data.shape) if x is None else x)
    windows = check_windows(made, _windows(config.windows, made))
    check_cosines(config.cosines)
    if x is not None:
        for change in made:
            _try(opened.field, change, x, windows.get(change.name), config.samples)
    specs, scanned = tuple(change.spec for change in made), len(windows)
    full = msgspec.structs.replace(opened.config, changes=specs, scanned=scanned, windows=_named(config.windows, made))
    return close_run(replace(opened, config=full), trust=trust, say=say)


def _named(windows: Mapping[str, float], made: Sequence[Change]) -> dict[str, float]:
    """Windows by the name of their change; one without a name is that of the only scanned change."""
    only = next((change.name for change in made if isinstance(change, Continuous)), "")
    return {name or only: window for name, window in windows.items()}


def _windows(windows: Mapping[str, float], made: Sequence[Change]) -> Window:
    return windows[""] if "" in windows else _named(windows, made) or None


def _try(field: Bounded, change: Change, x: Tensor, window: float | None, samples: int) -> None:
    """Make one change and look: what does not fit would fail input by input."""
    t = torch.tensor([change.high], dtype=torch.float64) if isinstance(change, Continuous) else None
    t = change.alternatives(x)[:1] if isinstance(change, Finite) else t
    assert t is not None
    along = Along(field, change, x, 0)
    if bool(x.isfinite().all()):
        along.inputs(t)  # a change that makes NaN of this input does so of others
    with suppress(NonFiniteError):  # of this input: it will say so itself
        seen = along.look(t, stream(Purpose.PROBE, 0, device=x.device))
        if isinstance(change, Continuous) and window is not None:
            size, draws = seen.maps.shape[1], samples - samples // PILOT
            plan_grid(low=change.low, high=change.high, window=window, draws=draws, size=size)
