"""From a configuration to the job of a run of column tolerances."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np
import torch

from attribound import checks as check
from attribound.certification.reopen import open_field
from attribound.certification.suspicions import check_columns
from attribound.data import Arrays, Dataset, Unlabelled, label_doubt, open_data
from attribound.data.table import column_moments, noise_scale
from attribound.errors import ArgumentError, AttriboundError, StoredDataError
from attribound.file_quota import read_bytes, shown
from attribound.forests import TreeShap
from attribound.forests.ensemble import FloatArray
from attribound.forests.sizes import size_named
from attribound.forests.statements import decide, make_statements
from attribound.models import load_model
from attribound.models.forest import ForestScores, shap_of
from attribound.runs.config import RunConfig
from attribound.runs.job import Job, Opened, cells_of
from attribound.runs.work import class_of
from attribound.tolerances.columns.asker import ColumnsAsker
from attribound.tolerances.columns.record import PART, Asked
from attribound.tolerances.columns.sheet import called_of

ALL = "all"
"""Every column of numbers, for --whole."""


def prepare_columns(
    config: RunConfig, *, trust: bool = False, say: Callable[[str], None] = lambda line: None
) -> tuple[RunConfig, Job]:
    """Check a configuration against its forest and table before anything is written.

    Args:
        config: what is asked for; units are not known yet, columns that do not move are named.
        trust: unused: forests hold no code.
        say: told, in a line, what is odd but not wrong, and what one unit is.
    """
    model = load_model(config.model, config.arch, trust=trust)
    if not isinstance(model, ForestScores):
        raise ArgumentError(f"--change columns is for forests (.json, .ubj, .txt), got {config.model}")
    words = dict(model.explainer.forest.words)
    config = msgspec.structs.replace(config, words=words)
    asked = config.columns or Asked()
    data = open_data(config.data, cells=cells_of(config))
    if not isinstance(data, Arrays) or len(data.shape) != 1:
        raise ArgumentError(f"expected a table (csv:FILE, parquet:FILE or npz:FILE) for a forest, got {config.data}")
    check_columns(data.features, model, config.model)
    shap = shap_of(model, data.features)
    full = fully_asked(asked, data, shap)
    say(f"one unit: {full.source}")
    if typed := _whole_by_chance(full, data, shap):
        say(f"some columns hold whole numbers only: if there are none between, add --whole {typed}")
    doubt = _doubt(data, shap)
    if doubt:
        say(doubt)
    items = None if config.items is None else min(config.items, len(data))
    whole = msgspec.structs.replace(
        config,
        columns=full,
        changes=(PART,),
        items=items,
        attribution="treeshap",
        model_sha256=model.pinned_sha256,
        data_sha256=data.sha256(),
    )
    _try_first(ColumnsAsker(shap, full, target=_target(config.target, shap)), data)
    known = Opened(Unlabelled(data) if doubt else data, open_field(whole.subject, model), model.pinned_sha256)
    return whole, Job(whole, trust, None, labelled=not doubt, opened=known)


def fully_asked(asked: Asked, data: Arrays, shap: TreeShap) -> Asked:
    """What is asked, with all that follows from table and forest; asked of the outcome, it is the same again."""
    told = _with_codebook(msgspec.structs.replace(asked, words=dict(shap.forest.words)), data)
    units, source = _units(told, data, shap)
    return msgspec.structs.replace(told, units=units, source=source, whole=_whole(told.whole, shap))


def _with_codebook(asked: Asked, data: Dataset) -> Asked:
    """What is asked, with what the data's codebook states: words, columns that cannot move, whole numbers."""
    stated = {name: data.codebook[name] for name in data.features}
    return msgspec.structs.replace(
        asked,
        words={name: one.words for name, one in stated.items() if one.words} | asked.words,
        fixed=tuple(dict.fromkeys((*asked.fixed, *(name for name, one in stated.items() if one.fixed)))),
        whole=asked.whole or tuple(name for name, one in stated.items() if one.whole),
        called=called_of(data.codebook),
        classes=data.classes,
        noun=data.codebook.noun,
    )


def _doubt(data: Dataset, shap: TreeShap) -> str:
    classes = 2 if shap.forest.decides == "sides" else shap.forest.outputs
    return "" if shap.forest.decides == "values" else label_doubt(data, classes)


def _target(typed: str | None, shap: TreeShap) -> int | None:
    target, outputs = class_of(typed), shap.forest.outputs
    if target is None or (isinstance(target, int) and target < outputs):
        return target
    raise ArgumentError(f"expected --target from 0 to {outputs - 1}, an output of the forest, got {typed!r}")


def _known(option: str, names: Sequence[str], shap: TreeShap) -> Sequence[str]:
    for name in names:
        if name not in shap.forest.names:
            raise ArgumentError(f"expected --{option} to name columns of the forest, got {name!r}")
    return names


def _whole(names: Sequence[str], shap: TreeShap) -> tuple[str, ...]:
    forest = shap.forest
    if tuple(names) == (ALL,) and ALL not in forest.names:
        return tuple(name for name, listed in zip(forest.names, forest.categorical, strict=True) if not listed)
    return tuple(_known("whole", names, shap))


def _whole_by_chance(asked: Asked, data: Arrays, shap: TreeShap) -> str:
    """What to type for columns that hold whole numbers only and may take any number; "" if it was said already."""
    if asked.whole:
        return ""
    forest, rows = shap.forest, data.rows()
    moving = ~np.array(forest.categorical) & (np.array(asked.units) > 0)
    counts = moving & ((rows == np.floor(rows)) | np.isnan(rows)).all(axis=0)
    if counts.any() and (counts | np.array(forest.categorical)).all():
        return ALL
    return ",".join(name for name, counted in zip(forest.names, counts, strict=True) if counted)


def _units(asked: Asked, data: Arrays, shap: TreeShap) -> tuple[tuple[float, ...], str]:
    """By column, and what one unit is, in words."""
    forest, scale, fixed = shap.forest, asked.scale, _known("fixed", asked.fixed, shap)
    listed = np.array(forest.categorical) | np.isin(forest.names, list(asked.words))
    if scale == "percent":
        units, source = np.ones(len(forest.names)), "1 % of the cell's own value"
    elif scale == "std":
        units, source = _deviations(data)
    else:
        units, source = _stated(Path(scale), shap), f"as stated in {shown(Path(scale))}"
    units = np.where(listed & (scale in ("std", "percent")), 1.0, units)
    still = [name for name, unit in zip(forest.names, units, strict=True) if unit == 0 and name not in fixed]
    if still:
        why = "is the same in all rows, so it has no standard deviation" if scale == "std" else "has unit 0"
        raise ArgumentError(f"the column {still[0]!r} {why}: say that it does not move, --fixed {still[0]}")
    moving = np.array([name not in fixed for name in forest.names])
    rest = "; another category is one unit" if (listed & moving).any() else ""
    return tuple(np.where(moving, units, 0.0).tolist()), source + rest


def _deviations(data: Arrays) -> tuple[FloatArray, str]:
    if data.scale is not None:
        stated = noise_scale(data.codebook, data.features)  # ?scale= goes before it
        of_codebook = stated is not None and torch.equal(stated, data.scale)
        named = "as the codebook states it" if of_codebook else "of the table that ?scale= names"
        return data.scale.double().numpy(), f"one standard deviation, {named}"
    if len(data) < 2:
        raise ArgumentError("one row has no standard deviation: state units with --scale FILE, or ?scale=TRAINING.csv")
    return column_moments(data.rows())[1], f"one standard deviation, of all {len(data):,} rows of {data.name}"


def _stated(path: Path, shap: TreeShap) -> FloatArray:
    """Units by column from a JSON file, {"age": 11.4, ...}, one for every column of the forest."""
    try:
        stored = json.loads(read_bytes(path))
        units = {str(name): float(unit) for name, unit in stored.items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        expected = '{"age": 11.4, "amount": 2800}'
        raise StoredDataError(
            f"expected --scale std, percent or a JSON file of units, {expected}, got {shown(path)}"
        ) from None
    for name in units:
        if name not in shap.forest.names:
            raise StoredDataError(f"{shown(path)} states a unit of {name!r}, which is not a column of the forest")
    lacking = [name for name in shap.forest.names if name not in units]
    if lacking:
        raise StoredDataError(f"{shown(path)} states no unit of {lacking[0]!r}")
    return np.array([units[name] for name in shap.forest.names])


def _try_first(asker: ColumnsAsker, data: Arrays) -> None:
    """Make the statements of the first row that can be read: what does not fit would fail row by row."""
    asked, forest = asker.asked, asker.shap.forest
    size_named(asked.size)
    check.count("nodes", asked.boxes)
    check.positive("seconds", asked.seconds)
    for item in range(len(data)):
        try:
            row = data.row(item)
            forest.codes(row[None])
        except AttriboundError:
            continue
        decision = decide(asker.shap, row, target=asker.target, side=asked.side, threshold=asked.threshold)
        make_statements(forest, decision, asked.keep, threshold=asked.threshold)
        return
