"""Runs in bfloat16: every record says so, and whoever opens one again runs the model in it."""

import pytest
import torch

from attribound.certificates.certificate import Certificate
from attribound.certificates.record import decode, encode
from attribound.certification.again import sample_again
from attribound.certification.reopen import Opener
from attribound.errors import ArgumentError
from attribound.report.shared.wording import command
from attribound.runs.config import RunConfig
from attribound.runs.membership import foreign
from attribound.runs.runner import prepare
from attribound.runs.tasks import Task
from attribound.runs.work import Worker


def test_a_run_in_bfloat16_says_so_and_is_opened_in_it(monkeypatch):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": False}, raising=False)
    config = RunConfig(model="mnist-cnn", data="mnist-sample", samples=32, items=1, precision="bfloat16")
    said: list[str] = []
    full, job = prepare(config, say=said.append)
    assert [line for line in said if "no bfloat16 instructions" in line]
    assert "--precision bfloat16" in command(full, "out")
    outcome = Worker(job).outcome(Task(0, True, True))
    record = decode(encode(outcome.record), "record")
    assert record.subject.precision == "bfloat16"
    assert [line for line in foreign(record, full) if "seal" not in line] == []
    opened = Opener()(record.subject)
    assert opened.field.precision == "bfloat16"
    stored = Certificate(record, outcome.pictures["smoothed"])
    assert sample_again(stored, opened.field, opened.x, opened.noise).problems == []


def test_an_unknown_precision_is_one_line():
    config = RunConfig(model="mnist-cnn", data="mnist-sample", precision="int4")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="expected `precision` 'float32', 'bfloat16' or 'float16', got 'int4'"):
        prepare(config)
