"""The reference of `--map relative:DATA`: made once, before anything is drawn, from inputs that are not certified."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress

import msgspec
import torch
from torch import Tensor, nn

from attribound.certification.arguments import look_at
from attribound.certification.reopen import open_field
from attribound.data import Dataset, fitted, open_data
from attribound.errors import ArgumentError, StoredDataError
from attribound.fields.bounded import Bounded
from attribound.fields.relative import Relative, mean_unit_map, packed_reference
from attribound.hashes import input_hash
from attribound.runs.config import RunConfig

_MOST_INPUTS = 64
"""The mean is over this many inputs at most, evenly spaced in the data."""


def with_reference(config: RunConfig, data: Dataset, model: nn.Module) -> RunConfig:
    """The configuration with the reference in it, if its map is relative.

    Args:
        config: what is asked for.
        data: the inputs that are certified.
        model: the classifier, where it will run.
    """
    places = [place for place, spec in enumerate(config.maps) if spec.partition(":")[0] == "relative"]
    if not places:
        return config
    if len(places) > 1:
        raise ArgumentError("expected --map relative:DATA once")
    place = places[0]
    source = re.sub(r"@[0-9a-f]{16}$", "", config.maps[place].partition(":")[2])
    if not source:
        raise ArgumentError("expected --map relative:DATA with data as after --data, got no data")
    below = open_field(msgspec.structs.replace(config.subject, maps=config.maps[:place], bound="unit"), model)
    items = data.order(config.seed if config.shuffle else None, config.items)
    certified = {input_hash(x) for x in _inputs(data, items)}
    others = _others(source, data, model, certified)
    maps = [_map(below, x.to(config.device)) for x in others]
    relative = Relative(below.base, mean_unit_map(torch.stack(maps)), source)
    shapes = (*config.maps[:place], relative.reshaped[-1], *config.maps[place + 1 :])
    return msgspec.structs.replace(config, maps=shapes, reference=packed_reference(relative))


def _others(source: str, data: Dataset, model: nn.Module, certified: set[str]) -> list[Tensor]:
    """Inputs of the source that are not certified."""
    found = fitted(source, open_data(source), model).data
    if found.shape != data.shape:
        raise ArgumentError(f"expected inputs of shape {data.shape} in --map relative:{source}, got {found.shape}")
    step = -(-len(found) // _MOST_INPUTS) or 1
    others = [x for x in _inputs(found, range(0, len(found), step)) if input_hash(x) not in certified]
    if not others:
        raise ArgumentError(f"expected inputs in --map relative:{source} that are not certified themselves, got none")
    return others


def _inputs(data: Dataset, items: Iterable[int]) -> Iterator[Tensor]:
    """Those that can be read; a run makes a record of each that cannot."""
    for item in items:
        with suppress(StoredDataError):
            yield data.input(item)


def _map(field: Bounded, x: Tensor) -> Tensor:
    """The plain unit map of one input, for its own predicted class."""
    generator = torch.Generator(x.device).manual_seed(0)
    with torch.enable_grad():
        rows = x.expand(field.block, *x.shape)
        maps = field.attribute(rows, look_at(field.model, x).prediction, generator=generator).detach()
    return maps.mean(dim=0).cpu()
