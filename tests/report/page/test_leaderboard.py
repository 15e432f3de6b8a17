"""The leaderboard takes finished runs whose every number is proved, and nothing else."""

import importlib.util
import json
import statistics
import sys
from pathlib import Path

import msgspec
import pytest

from attribound.errors import ArgumentError
from attribound.models import card
from attribound.rounding import lower_quantile
from attribound.runs import Store
from attribound.runs.tasks import Outcome
from tests.report.conftest import error, finding, forged, write_run

SCRIPT = Path(__file__).parents[3] / "scripts" / "experiments" / "leaderboard.py"
spec = importlib.util.spec_from_file_location("leaderboard", SCRIPT)
board = importlib.util.module_from_spec(spec)
spec.loader.exec_module(board)


@pytest.fixture
def attacked(celled, tmp_path) -> Path:
    """A run with cells whose first two inputs were attacked."""
    with Store.read(celled) as store:
        config = store.config
        outcomes = [Outcome(one.item, one, store.pictures(one.item)) for one in store.records()]
    found = [finding(outcomes[0]), finding(outcomes[1], worst=0.9)]
    return write_run(tmp_path / "attacked", config, outcomes, findings=found)


def test_a_row_says_what_the_records_prove(attacked) -> None:
    row = board.row_of(attacked)
    with Store.read(attacked) as store:
        records = list(store.records())
    assert row["epsilon"] == lower_quantile([one.max_epsilon["0.8"] for one in records], 0.5) > 0
    assert row["visible"] <= row["epsilon"]
    assert row["joint"] == lower_quantile([one.joint_epsilon["0.8"] for one in records], 0.5)
    tallies = [one.cells["0.5"]["0.1"] for one in records]
    assert row["cells"] == pytest.approx(statistics.fmean((one.hot + one.cold) / 49 for one in tallies))
    assert row["gap"] == pytest.approx(0.1), "the worst of both"
    assert (row["attacked"], row["inputs"], row["draws"]) == (2, 4, 256)
    assert row["accuracy"] == card("mnist-cnn-noise")["test_accuracy"]
    assert row["model_sha256"] == records[0].model_sha256


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("missing", "it has 3 of 4 inputs"),
        ("failed", "1 inputs failed"),
        ("forged", "1 records state more than they prove"),
        ("violated", "a certificate was violated"),
        ("assumed", "its limit is assumed"),
        ("cosine", "not asked for cosine 0.8"),
        ("empty", "it has 0 of 4 inputs"),
    ],
)
def test_what_is_not_proved_is_refused(case, reason, synthesise, template) -> None:
    outcomes = template[1]
    changed = {
        "missing": outcomes[:3],
        "failed": [*outcomes[:3], error(3)],
        "forged": [forged(outcomes[0], max_epsilon={"0.8": 9.0, "0.9": 8.0}), *outcomes[1:]],
        "empty": [],
    }.get(case, outcomes)
    findings = [finding(outcomes[0], worst=0.4, worst_most=0.5)] if case == "violated" else []
    other = {"assumed": {"bound": "assumed:1"}, "cosine": {"cosines": (0.9,)}}.get(case, {})
    with pytest.raises(ArgumentError, match=reason):
        board.row_of(synthesise(changed, findings=findings, **other))


def test_a_row_replaces_the_one_about_the_same(attacked) -> None:
    row = board.row_of(attacked)
    rows = board.merged([row | {"epsilon": 9.0}, row | {"noise": "gaussian:1"}], [row])
    assert sorted(one["epsilon"] for one in rows) == [row["epsilon"], row["epsilon"]]


def test_the_command_writes_both_files_and_rounds_down(attacked, tmp_path, monkeypatch) -> None:
    out = tmp_path / "board.json"
    monkeypatch.setattr(sys, "argv", ["leaderboard.py", str(attacked), "--imagenet", "--out", str(out)])
    board.main()
    board.main()
    rows = json.loads(out.read_text())
    assert len({board._key(row) for row in rows}) == len(rows)
    assert {"run", board.IMAGENET} == {row["source"] for row in rows}
    shown = board._shown(rows[-1] | {"epsilon": 0.12999, "cells": 0.9999, "gap": 0.1999, "accuracy": 0.98})
    assert shown[4:8:3] == ["0.129", "99.9 %"]
    assert shown[9] == "98.0 %"
    assert shown[11].startswith("0.19 ")
    assert "| mnist-cnn-noise |" in out.with_suffix(".md").read_text()
    monkeypatch.setattr(sys, "argv", ["leaderboard.py", str(tmp_path / "none"), "--out", str(out)])
    with pytest.raises(SystemExit, match="is not a run"):
        board.main()


def test_names_of_folders_stay_at_home(attacked, tmp_path) -> None:
    """A row is public: where data and weights lie is nobody's business."""
    with Store.read(attacked) as store:
        config, records = store.config, list(store.records())
    moved = msgspec.structs.replace(config, data="cifar10:/secret/place", model="/secret/weights.safetensors")
    row = board.row_of(write_run(tmp_path / "moved", moved, [Outcome(one.item, one) for one in records]))
    assert "secret" not in json.dumps(row)
    assert (row["data"], row["model"]) == ("cifar10", "weights.safetensors")
