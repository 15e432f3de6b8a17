"""Whether a record belongs to its run: its settings are those of the run's configuration, and its seal fits."""

from functools import lru_cache

from attribound.certificates.record import Record
from attribound.runs.config import RunConfig


def foreign(record: Record, config: RunConfig) -> list[str]:
    """Where a record does not belong to its run, or was changed after it was written."""
    pairs = {
        "alpha": (record.alpha, config.alpha),
        "bound": (record.bound.spec, plain_spec(config.bound)),
        "output": (record.output, config.output),
        "precision": (record.subject.precision, config.precision),
        "maps": (tuple(map(plain_spec, record.maps)), tuple(plain_spec(one) for one in config.maps if one != "raw")),
        # Records that were made without a data set have seeds of their own.
        "seed": (record.seed, config.seed if config.data_sha256 else record.seed),
    }
    found = [f"has {name} {mine}, its run {whole}" for name, (mine, whole) in pairs.items() if mine != whole]
    if not same_method(record.attribution, config.attribution):
        found.append(f"has attribution {record.attribution}, its run {config.attribution}")
    if record.samples > config.samples + record.block or not _same_noise(config, record):
        found.append("has other samples or noise than its run")
    if config.model_sha256 and record.model_sha256 != config.model_sha256:
        found.append("is about another model than its run")
    if not record.sealed:
        found.append("was changed after it was written: its seal does not fit")
    return found


def _same_noise(config: RunConfig, record: Record) -> bool:
    return (
        record.subject.noise == plain_spec(config.noise)
        and record.noise.units == config.units
        and (record.subject.changes or ()) == config.together
    )


def same_method(known: str, typed: str) -> bool:
    """Whether a record's method is the one typed: NAME[:[LAYER][@HxW]], the layer perhaps left to the model."""
    (name, layer, grid), (typed_name, typed_layer, typed_grid) = map(_method_parts, (known, typed))
    return name == typed_name and typed_layer in ("", layer) and typed_grid in ("", grid)


def _method_parts(method: str) -> tuple[str, str, str]:
    name, _, place = method.partition(":")
    layer, _, grid = place.partition("@")
    return name, layer, grid


@lru_cache(maxsize=64)
def plain_spec(spec: str) -> str:
    """A setting as it was typed, its number written one way: `clip:2` is `clip:2.0`."""
    kind, _, number = spec.partition(":")
    try:
        return f"{kind}:{float(number)!r}"
    except ValueError:
        return spec
