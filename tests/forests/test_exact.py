"""Exact answers against trying everything, on many small random models of every kind."""

from pathlib import Path

import numpy as np
import pytest

from attribound.forests.cells import movements
from attribound.forests.tables import split_groups, whole_trees
from tests.forests.small import KINDS, ask, make, question, reference

CLOSE = 1e-6
"""Cells end between two float32; the reference tries the float32 beside it."""


def compare(kind: str, seeds: range, folder: Path) -> int:
    """How many answers were compared; raises where one differs."""
    compared = telling = 0
    for seed in seeds:
        model = make(kind, seed, folder)
        row = model.rows[seed % len(model.rows)]
        asked = question(seed, model.forest, row)
        sheet = ask(model, row, asked)
        for part in sheet.parts:
            truth = reference(model, row, asked, sheet, part)
            reach = part.together.reach
            assert part.together.exact
            where = (kind, seed, asked, part.words, reach, truth.least, truth.most)
            assert truth.least * (1 - CLOSE) - CLOSE <= reach <= truth.most * (1 + CLOSE) + CLOSE, where
            assert (part.together.nearest is None) == np.isinf(reach), where
            if part.together.nearest is not None:
                assert truth.inside(part.together.nearest[None])[0] <= 2 * model.forest.tie.sum(), where
                check_size(model, row, asked, part.together, where)
            compared += 1
            telling += 0 < reach < np.inf
    assert telling > compared // 3, "most answers should be neither nothing nor everything"
    return compared


def check_size(model, row, asked, together, where) -> None:
    """The nearest row is as far as it is said to be, and keeps what does not move."""
    free = {name: asked[name] for name in ("scale", "missing", "whole")}
    moves = movements(model.forest.names, model.forest.categorical, fixed=(), choices=None, **free)
    distances = []
    for old, new, move, listed in zip(row, together.nearest, moves, model.forest.categorical, strict=True):
        same = old == new or (np.isnan(old) and np.isnan(new))
        assert same or move.unit, where
        assert same or not move.whole or np.isnan(new) or new == np.floor(new), where
        unordered = listed or np.isnan(old) or np.isnan(new)
        distances.append(0.0 if same else 1.0 if unordered or asked["size"] == "count" else abs(old - new) / move.unit)
    size = {"l2": np.hypot.reduce, "each": max, "count": sum}[asked["size"]](distances)
    assert size == pytest.approx(together.reach, rel=CLOSE, abs=CLOSE), where


@pytest.mark.parametrize("kind", KINDS)
def test_every_answer_is_that_of_trying_everything(kind: str, tmp_path: Path) -> None:
    assert compare(kind, range(50), tmp_path) >= 50


@pytest.mark.parametrize("kind", ["xgboost categorical", "lightgbm"])
def test_growing_boxes_and_trees_in_pieces(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same answers where the boxes must grow in many steps and trees are taken apart leaf by leaf."""
    monkeypatch.setattr("attribound.forests.nearest.STAGES", (4, 16, 64))
    split = []

    def pieces(trees, near, inequalities):
        whole = whole_trees(trees, near)
        split.append(len(split_groups(whole, near, 1)) > len(whole))
        return split_groups(whole, near, 1)

    monkeypatch.setattr("attribound.forests.nearest._pieces", pieces)
    assert compare(kind, range(40), tmp_path) >= 30
    assert sum(split) > 10


def test_what_does_not_fit_into_memory_proves_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    less = 0
    for seed in range(30):
        model = make("xgboost", seed, tmp_path)
        row = model.rows[seed]
        asked = question(seed, model.forest, row)
        exact = ask(model, row, asked)
        with monkeypatch.context() as patch:
            patch.setattr("attribound.forests.nearest.STAGES", (4,))
            patch.setattr("attribound.forests.nearest.MOST_NUMBERS", 1)
            some = ask(model, row, asked)
        for one, other in zip(some.parts, exact.parts, strict=True):
            assert one.together.reach <= other.together.reach
            assert not one.together.exact or one.together.reach == other.together.reach
            less += not one.together.exact
    assert less > 5


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_more(kind: str, tmp_path: Path) -> None:
    assert compare(kind, range(50, 1050), tmp_path) >= 1000
